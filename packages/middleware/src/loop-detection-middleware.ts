import { type AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import {
  appendNotice,
  blockedCall,
  idleReport,
  type LoopOptions,
  type LoopState,
  loopHint,
  loopReport,
  observeMessages,
  observeReply,
  readLoops,
  replaceAnswer,
  resolveLoopOptions,
  type Seal,
  sealMessage,
  withSystemDeps,
} from "@longhaul/core";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { answerToolError } from "./shared/answer-tool-error.ts";
import { channelSchema } from "./shared/channels.ts";
import {
  answerOf,
  commitModelCall,
  isStructuredAnswer,
  type ModelCallResult,
} from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";
import { currentEmitter } from "./shared/origin.ts";

export interface LoopDetectionOptions extends LoopOptions, CommonOptions {}

/**
 * Notices when an agent goes in circles, and brings it out or ends it.
 *
 * Before each model call the steps that were finished since the last one are observed. A hint stands in that request only
 * and in no history; a block answers the repeated calls with an error instead of running them; a stop answers without calling
 * the model, sealed `NEEDS_HUMAN` with `loop` or `no_progress`. An answer with neither a call nor anything to say is not stored:
 * the model is asked again at most `nudges` times, then the run ends with `empty` or `no_progress`. No existing message is
 * rewritten, and every call has its result at each stage.
 *
 * Place in the chain: inside budget, outside progress and context, so that its notices reach the context view; tool retry
 * belongs further in, since a tool's error is turned into its error message here, as without middleware.
 *
 * Replay and resume: the verdict is a function of `messages` and `_longhaulLoops`, which commits with the answer, so a repeated step says
 * the same. State is per thread and namespace, survives folds, resets and restarts; a new human message clears it.
 *
 * @throws InvalidOptionsError at once; at a call StateFormatError
 */
export function loopDetectionMiddleware(options: LoopDetectionOptions = {}): AgentMiddleware {
  const { nudges, nudgeText } = resolveLoopOptions(options);
  const deps = withSystemDeps(options.deps);

  /** A guard's closing message needs an id: nested wrappers write it more than once in a step. */
  const closing = (seal: Seal, text: string, id?: string): AIMessage => {
    const message = sealMessage(seal, text);
    message.id = id ?? deps.newId();
    return message;
  };

  return createMiddleware({
    name: "LonghaulLoopDetection",
    stateSchema: channelSchema("_longhaulLoops"),
    wrapModelCall: async (request, handler) => {
      const before = readLoops(request.state._longhaulLoops);
      const emit = currentEmitter(options.events, deps.clock);
      const observation = observeMessages(before, request.state.messages, options);
      const { signal, kind = "cycle", reason = "loop", evidence = "" } = observation;
      let { state } = observation;
      let messages: BaseMessage[] = request.messages;

      if (signal === "stop") {
        emit({ type: "loop.stop", kind, reason, evidence });
        const seal: Seal = { status: "NEEDS_HUMAN", reason: reason === "loop" ? "loop" : "no_progress" };
        return commitModelCall(closing(seal, loopReport(observation)), { _longhaulLoops: state });
      }
      if (signal !== "none") {
        emit({ type: `loop.${signal}`, kind, reason, evidence });
        messages = appendNotice(messages, loopHint(observation));
      }

      const dropped: AIMessage[] = [];
      for (;;) {
        const result = (await handler({ ...request, messages })) as ModelCallResult;
        const answer = answerOf(result);
        // structured output is an answer whatever its text, and so is what a guard further in put in its place
        const plain = result === answer && !isStructuredAnswer(result);
        const reply = answer && plain ? observeReply(state, answer, options) : undefined;
        state = reply?.state ?? state;
        const update = { _longhaulLoops: changed(before, state) };
        if (!answer || !reply || reply.verdict === "accept") {
          return withoutMessages(commitModelCall(result, update), dropped);
        }
        // the reducer would give it one anyway; without it, it could not be taken out again
        answer.id ??= deps.newId();
        if (reply.verdict === "end") {
          const cause = reply.reason ?? "empty";
          const text = idleReport(cause, nudges + 1);
          emit({ type: "loop.stop", kind: "idle", reason: cause, evidence: text });
          // takes the place of the last idle answer, which the agent stores by itself
          const seal = closing({ status: "NEEDS_HUMAN", reason: cause }, text, answer.id);
          return withoutMessages(commitModelCall(replaceAnswer(answer, seal), update), dropped);
        }
        dropped.push(answer);
        emit({ type: "loop.nudge", times: dropped.length });
        if (dropped.length === 1) messages = appendNotice(messages, { kind: "loop", text: nudgeText });
      }
    },
    wrapToolCall: async (request, handler) => {
      const refused = blockedCall(readLoops(request.state._longhaulLoops), request.toolCall, options);
      if (refused) {
        currentEmitter(options.events, deps.clock)({ type: "loop.blocked", tool: request.toolCall.name });
        return refused;
      }
      try {
        return await handler(request);
      } catch (error) {
        return answerToolError(error, request);
      }
    },
  });
}

/** undefined when nothing was observed: an unchanged channel is not written again. */
function changed(before: LoopState, after: LoopState): LoopState | undefined {
  return after === before ? undefined : after;
}

/**
 * Takes idle answers out of what is stored. A wrapper further in that returned a Command has stored them with it, another has
 * not: so they are added first, removing a message that is not there would throw.
 */
function withoutMessages(result: AIMessage | Command, dropped: readonly AIMessage[]): AIMessage | Command {
  if (dropped.length === 0 || !isCommand(result)) return result;
  const update = Array.isArray(result.update) ? result.update : Object.entries(result.update ?? {});
  return new Command({
    ...(result.graph === undefined ? {} : { graph: result.graph }),
    ...(result.goto === undefined ? {} : { goto: result.goto }),
    update: [
      ["messages", dropped],
      ["messages", dropped.map((message) => new RemoveMessage({ id: message.id as string }))],
      ...(update as [string, unknown][]),
    ],
  });
}
