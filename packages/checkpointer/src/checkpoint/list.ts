import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type CheckpointListOptions,
  type CheckpointTuple,
  getCheckpointId,
} from "@langchain/langgraph-checkpoint";
import { canonicalJson } from "@longhaul/core";
import { namespaceOf, storable } from "../address.ts";
import type { HeadQuery, StorageDriver } from "../driver/driver.ts";
import type { Reader } from "./reader.ts";

export async function* listTuples(
  driver: StorageDriver,
  reader: Reader,
  config: RunnableConfig,
  { limit, before, filter }: CheckpointListOptions,
): AsyncGenerator<CheckpointTuple> {
  if (limit !== undefined && !(limit > 0)) return;
  const rows = limit === undefined || !Number.isFinite(Number(limit)) ? undefined : Math.ceil(limit);
  const wanted = Object.entries(filter ?? {}).filter(([, value]) => value !== undefined);
  const query = queryOf(config, before);
  const addresses = await driver.addresses(wanted.length === 0 ? { ...query, limit: rows } : query);
  let left = rows ?? Number.POSITIVE_INFINITY;
  for (const { threadId, namespace, checkpointId } of addresses) {
    if (left <= 0) return;
    const row = await driver.head(threadId, namespace, checkpointId);
    // deleted since the addresses were read
    if (!row) continue;
    const head = reader.head(row);
    const metadata = head.meta as Record<string, unknown>;
    if (!wanted.every(([key, value]) => Object.hasOwn(metadata, key) && isEqual(metadata[key], value)))
      continue;
    left -= 1;
    yield await reader.tuple(row, head);
  }
}

function queryOf(config: RunnableConfig, before: RunnableConfig | undefined): HeadQuery {
  const { thread_id: threadId, checkpoint_ns: namespace } = config.configurable ?? {};
  const id = getCheckpointId(config);
  const beforeId = before && getCheckpointId(before);
  return {
    threadId: threadId === undefined ? undefined : storable("thread_id", threadId),
    // an absent namespace means all of them here, as in LangGraph's own savers
    namespace: namespace === undefined || namespace === null ? undefined : namespaceOf(namespace),
    checkpointId: id ? storable("checkpoint_id", id) : undefined,
    before: beforeId ? storable("before.checkpoint_id", beforeId) : undefined,
  };
}

function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return Object.is(a, b);
  return canonicalJson(a) === canonicalJson(b);
}
