import { type AIMessage, RemoveMessage } from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import {
  appendNotice,
  askUntilAnswered,
  blockedCall,
  currentEmitter,
  guardLoops,
  type LoopOptions,
  readLoops,
  replaceAnswer,
  resolveLoopOptions,
  withSystemDeps,
} from "@longhaul/core";
import { createMiddleware } from "langchain";
import { answerToolError } from "./shared/answer-tool-error.ts";
import { channelSchema } from "./shared/channels.ts";
import {
  answerOf,
  commitModelCall,
  isStructuredAnswer,
  type ModelCallResult,
} from "./shared/commit-model-call.ts";
import type { CommonOptions } from "./shared/common-options.ts";

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
export function loopDetectionMiddleware(options: LoopDetectionOptions = {}) {
  resolveLoopOptions(options);
  const deps = withSystemDeps(options.deps);

  return createMiddleware({
    name: "LonghaulLoopDetection",
    stateSchema: channelSchema("_longhaulLoops"),
    wrapModelCall: async (request, handler) => {
      const before = readLoops(request.state._longhaulLoops);
      const by = { emit: currentEmitter(options.events, deps.clock), newId: deps.newId };
      const { state, hint, end } = guardLoops(before, request.state.messages, options, by);
      if (end) return commitModelCall(end, { _longhaulLoops: state });
      const hinted = hint ? appendNotice(request.messages, hint) : request.messages;

      const asked = await askUntilAnswered(
        state,
        options,
        {
          call: async (nudge) =>
            (await handler({
              ...request,
              messages: nudge ? appendNotice(hinted, nudge) : hinted,
            })) as ModelCallResult,
          answerOf: (result) => {
            const answer = answerOf(result);
            return result === answer && !isStructuredAnswer(result) ? answer : undefined;
          },
        },
        by,
      );
      const { result, dropped } = asked;
      const answer = answerOf(result);
      // An unchanged channel is not written again. The end takes the place of the idle answer, which the agent stores by itself.
      const update = { _longhaulLoops: asked.state === before ? undefined : asked.state };
      const outcome = asked.end && answer ? replaceAnswer(answer, asked.end) : result;
      return withoutMessages(commitModelCall(outcome, update), dropped);
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
