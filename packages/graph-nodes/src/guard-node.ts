import {
  beginStep,
  currentEmitter,
  dueResumeNote,
  endStep,
  guardLoops,
  guardProgress,
  type LoopOptions,
  type ProgressOptions,
  readLoops,
  readProgress,
  readRunState,
  reportMove,
  resolveLoopOptions,
  resolveProgressOptions,
  withSystemDeps,
} from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";
import type { NodeOptions } from "./node-options.ts";

export interface GuardNodeOptions extends NodeOptions {
  /** Loop detection; false: none. @default {} */
  readonly loops?: LoopOptions | false | undefined;
  /** Options of the progress tools, for the end of a run that only checkpoints; false when the graph has none. @default {} */
  readonly progress?: ProgressOptions | false | undefined;
}

/**
 * The node before each model turn that decides whether there is one: it moves the run to RUNNING, observes the steps that were
 * finished, and leaves hints for the request (`_longhaulNotices`). A loop or a run without progress ends here: a sealed
 * assistant message is added, `_longhaulRun` is NEEDS_HUMAN, and `routeAfterGuard` goes to the end.
 *
 * Place: after START and after the tools, before `contextNode`. Replay and resume: a function of `messages` and the channels;
 * repeated, it says the same. Budgets are the model node's matter.
 *
 * @throws InvalidOptionsError at once; at a call StateFormatError
 */
export function guardNode(options: GuardNodeOptions = {}) {
  const loops = options.loops === false ? undefined : { tools: options.toolOptions, ...options.loops };
  if (loops) resolveLoopOptions(loops);
  const deps = withSystemDeps(options.deps);
  const progress =
    options.progress === false ? undefined : resolveProgressOptions({ ...options.progress, deps });

  return (state: LonghaulNodeState) => {
    const now = deps.clock.now();
    const before = readRunState(state._longhaulRun);
    const emit = currentEmitter(options.events, deps.clock, before.step + 1);
    const running = beginStep(before, now);
    reportMove(emit, before, running);

    const looped = loops
      ? guardLoops(readLoops(state._longhaulLoops), state.messages, loops, { emit, newId: deps.newId })
      : undefined;
    const observed = looped ? { _longhaulLoops: looped.state } : {};
    const end =
      looped?.end ??
      (progress && guardProgress(readProgress(state._longhaulProgress), state.messages, progress, emit));
    if (end) {
      // No model turn will count the resume.
      const resumed = beginStep(before, now, dueResumeNote(state.messages));
      const ended = endStep(resumed, end, false, now);
      reportMove(emit, running, ended);
      return { messages: [end], _longhaulRun: ended, ...observed };
    }
    const notices = looped?.hint ? [looped.hint] : [];
    return { _longhaulRun: running, _longhaulNotices: { v: 1 as const, notices }, ...observed };
  };
}
