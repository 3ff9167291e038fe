import type { RunnableConfig } from "@langchain/core/runnables";
import { getCheckpointId } from "@langchain/langgraph-checkpoint";
import { namespaceOf, storable } from "../address.ts";
import type { HeadAddress } from "../driver/driver.ts";
import { InvalidAddressError } from "../errors.ts";

/** A checkpoint's address as LangGraph passes it around. */
export interface Address {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | undefined;
}

/** @throws InvalidAddressError when the thread id is missing or no usable text. */
export function addressOf(config: RunnableConfig): Address {
  checkConfig(config);
  const configurable = config.configurable ?? {};
  const id = getCheckpointId(config);
  return {
    threadId: storable("thread_id", configurable.thread_id),
    namespace: namespaceOf(configurable.checkpoint_ns),
    checkpointId: id === "" || id === undefined ? undefined : storable("checkpoint_id", id),
  };
}

/** @throws InvalidAddressError */
export function checkConfig(config: unknown): void {
  if (typeof config !== "object" || config === null)
    throw new InvalidAddressError({
      field: "config",
      reason: `must be an object with \`configurable\`, but is ${config === null ? "null" : typeof config}`,
    });
}

export function configOf({ threadId, namespace, checkpointId }: HeadAddress): RunnableConfig {
  return {
    configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId },
  };
}
