import type { BaseMessage } from "@langchain/core/messages";

/**
 * A copy of a message with some fields replaced; class, id and everything else stay. Constructors are not used: they derive
 * calls and blocks from each other, and would write into what they are given.
 */
export function copyMessage<M extends BaseMessage>(message: M, fields: Partial<M>): M {
  const copy = Object.create(Object.getPrototypeOf(message)) as M;
  return Object.assign(copy, message, fields, {
    lc_kwargs: { ...(message as { lc_kwargs?: object }).lc_kwargs, ...fields },
  });
}
