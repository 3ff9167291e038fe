import {
  beginStep,
  endStep,
  type LoopOptions,
  loopHint,
  loopReport,
  type Notice,
  observeMessages,
  type ProgressOptions,
  progressStop,
  readLoops,
  readProgress,
  readResumeNotice,
  readRunState,
  resolveLoopOptions,
  resolveProgressOptions,
  type Seal,
  sealMessage,
  withSystemDeps,
} from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";
import { type NodeOptions, nodeConfig, nodeEmitter } from "./node-options.ts";

export interface GuardNodeOptions extends NodeOptions {
  /** Loop detection; false: none. @default {} */
  readonly loops?: LoopOptions | false | undefined;
  /** Options of the progress tools, for the end of a run that only checkpoints; false when the graph has none. @default {} */
  readonly progress?: ProgressOptions | false | undefined;
}

/**
 * The node before each model turn that decides whether there is one: it moves the run to RUNNING, observes the steps that were
 * finished, and leaves hints and the resume note for the request (`_longhaulNotices`). A loop or a run without progress
 * ends here: a sealed assistant message is added, `_longhaulRun` is NEEDS_HUMAN, and `routeAfterGuard` goes to the end.
 *
 * Place: after START and after the tools, before `contextNode`. Replay and resume: a function of `messages` and the channels;
 * repeated, it says the same. Budgets are the model node's matter.
 *
 * @throws InvalidOptionsError at once; at a call StateFormatError
 */
export function guardNode(options: GuardNodeOptions = {}) {
  const loops = options.loops === false ? undefined : (options.loops ?? {});
  if (loops) resolveLoopOptions(loops);
  const progress = options.progress === false ? undefined : resolveProgressOptions(options.progress ?? {});
  const deps = withSystemDeps(options.deps);

  return (state: LonghaulNodeState) => {
    const before = readRunState(state._longhaulRun);
    const emit = nodeEmitter(options, deps, before.step + 1);
    const resume = before.status === "RUNNING" ? undefined : resumeNote(before.step);
    const running = beginStep(before, deps.clock.now(), resume);
    const end = (seal: Seal, text: string) => {
      const message = sealMessage(seal, text);
      message.id = deps.newId();
      return { messages: [message], _longhaulRun: endStep(running, message, false, deps.clock.now()) };
    };

    const report = progress && progressStop(readProgress(state._longhaulProgress), state.messages, progress);
    if (report !== undefined) {
      emit({ type: "progress.stop", idle: readProgress(state._longhaulProgress).idle });
      return end({ status: "NEEDS_HUMAN", reason: "no_progress" }, report);
    }
    const notices: Notice[] = resume ? [{ kind: "resume", text: resume.note }] : [];
    if (!loops) return { _longhaulRun: running, _longhaulNotices: { v: 1 as const, notices } };

    const observation = observeMessages(readLoops(state._longhaulLoops), state.messages, loops);
    const { signal, kind = "cycle", reason = "loop", evidence = "" } = observation;
    if (signal === "stop") {
      emit({ type: "loop.stop", kind, reason, evidence });
      const seal: Seal = { status: "NEEDS_HUMAN", reason: reason === "loop" ? "loop" : "no_progress" };
      return { ...end(seal, loopReport(observation)), _longhaulLoops: observation.state };
    }
    if (signal !== "none") {
      emit({ type: `loop.${signal}`, kind, reason, evidence });
      notices.push(loopHint(observation));
    }
    return {
      _longhaulRun: running,
      _longhaulNotices: { v: 1 as const, notices },
      _longhaulLoops: observation.state,
    };
  };
}

/** Invocations whose resume note was given, by their stream writer; the config keeps the note for the whole invocation. */
const noted = new WeakMap<object, number>();

function resumeNote(step: number) {
  const { configurable, writer } = nodeConfig();
  const note = readResumeNotice(configurable?.longhaul_resume);
  if (!note || !writer) return note;
  const at = noted.get(writer) ?? step;
  noted.set(writer, at);
  return at === step ? note : undefined;
}
