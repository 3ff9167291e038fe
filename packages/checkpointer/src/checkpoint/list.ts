import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type CheckpointListOptions,
  type CheckpointTuple,
  getCheckpointId,
} from "@langchain/langgraph-checkpoint";
import { canonicalJson, InvalidOptionsError } from "@longhaul/core";
import { namespaceOf, storable } from "../address.ts";
import type { HeadQuery, StorageDriver } from "../driver/driver.ts";
import { checkConfig } from "./config.ts";
import type { Reader } from "./reader.ts";

export async function* listTuples(
  driver: StorageDriver,
  reader: Reader,
  config: RunnableConfig,
  { limit, before, filter }: CheckpointListOptions,
): AsyncGenerator<CheckpointTuple> {
  checkConfig(config);
  if (limit !== undefined && !(limit >= 0))
    throw new InvalidOptionsError({ option: "limit", value: limit, expected: "a number, at least 0" });
  if (limit === 0) return;
  const rows = limit === undefined || !Number.isFinite(Number(limit)) ? undefined : Math.ceil(limit);
  const wanted = Object.entries(filter ?? {}).filter(([, value]) => value !== undefined);
  const query = queryOf(config);
  const beforeId = before && getCheckpointId(before);
  const bound = beforeId ? await boundOf(driver, query, storable("before.checkpoint_id", beforeId)) : {};
  const every = wanted.length === 0 && bound.belowId === undefined;
  let left = rows ?? Number.POSITIVE_INFINITY;
  for await (const row of driver.heads({ ...query, below: bound.below, limit: every ? rows : undefined })) {
    if (left <= 0) return;
    if (bound.belowId !== undefined && row.checkpointId >= bound.belowId) continue;
    const head = reader.head(row);
    const metadata = head.meta as Record<string, unknown>;
    if (!wanted.every(([key, value]) => Object.hasOwn(metadata, key) && isEqual(metadata[key], value)))
      continue;
    const tuple = await reader.current(row, head);
    // pruned or deleted meanwhile
    if (!tuple) continue;
    left -= 1;
    yield tuple;
  }
}

/** Before a checkpoint that is there: what was stored earlier. Before any other id: those with smaller ids. */
async function boundOf(
  driver: StorageDriver,
  query: HeadQuery,
  id: string,
): Promise<{ readonly below?: number; readonly belowId?: string }> {
  if (query.threadId === undefined) return { belowId: id };
  for await (const { sequence } of driver.heads({ ...query, checkpointId: id, limit: 1 }))
    return { below: sequence };
  return { belowId: id };
}

function queryOf(config: RunnableConfig): HeadQuery {
  const { thread_id: threadId, checkpoint_ns: namespace } = config.configurable ?? {};
  const id = getCheckpointId(config);
  return {
    threadId: threadId === undefined ? undefined : storable("thread_id", threadId),
    // an absent namespace means all of them here, as in LangGraph's own savers
    namespace: namespace === undefined || namespace === null ? undefined : namespaceOf(namespace),
    checkpointId: id ? storable("checkpoint_id", id) : undefined,
  };
}

function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return Object.is(a, b);
  return canonicalJson(a) === canonicalJson(b);
}
