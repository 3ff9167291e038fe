import type { LonghaulNodeState } from "./longhaul-state.ts";
import type { RequestOptions } from "./node-options.ts";
import { RequestBuilder } from "./request-builder.ts";

/**
 * The node that builds the request of the next model call: applies a granted reset, folds if a fold is due, stores large results,
 * and leaves the messages to send in `longhaulRequest`. The node after it sends those, instead of `messages`.
 *
 * Place: right before the model node. Replay and resume: same state, same bytes; `longhaulRequest` is not saved, so a model
 * node that is resumed finds none and builds it again (`modelNode` does).
 *
 * @throws InvalidOptionsError at once; at a call GoalTooLargeError, RequestTooLargeError, StateFormatError
 */
export function contextNode(options: RequestOptions = {}) {
  const builder = new RequestBuilder(options);
  return async (state: LonghaulNodeState) => {
    const { view, update } = await builder.prepare(state);
    const { messages, estimated } = view;
    return { ...update, longhaulRequest: { messages, estimated } };
  };
}

/**
 * A node that only folds: summaries are made if they are due and `_longhaulMemory` moves on, no request is built. For graphs
 * that fold at a place of their own and call `buildContext` in their model node.
 *
 * Place: anywhere between two model calls. Replay, resume and errors: as `contextNode`. Nobody is asked for a reset, unless
 * `progress` says that the graph has its tools.
 */
export function summarizeNode(options: RequestOptions = {}) {
  const builder = new RequestBuilder({ ...options, progress: options.progress ?? false });
  return async (state: LonghaulNodeState) => (await builder.prepare(state)).update;
}
