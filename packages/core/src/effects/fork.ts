import type { ToolCallConfig } from "./call-site.ts";
import { threadOf } from "./call-site.ts";

/** What is read of a checkpoint in a thread's history. */
interface Past {
  readonly checkpoint: { readonly id: string; readonly ts: string };
  readonly metadata?: { readonly source?: string | undefined } | undefined;
  readonly parentConfig?:
    | { readonly configurable?: { readonly checkpoint_id?: unknown } | undefined }
    | undefined;
}

interface History {
  list(config: { configurable: Record<string, unknown> }): AsyncIterable<Past>;
}

/** How a run begins to go another way from an old checkpoint: by somebody's word, never by itself. */
const DELIBERATE: ReadonlySet<string | undefined> = new Set(["fork", "update", "input"]);

/** The checkpoint of the root graph from which a call runs. It is the same for all graphs nested in it. */
export function rootCheckpointOf(config: ToolCallConfig): string | undefined {
  const map = config.configurable?.checkpoint_map as Record<string, unknown> | undefined;
  const id = map?.[""] ?? config.executionInfo?.checkpointId;
  return typeof id === "string" ? id : undefined;
}

/**
 * Whether a call belongs to another branch of its thread's history than an effect that ran from the checkpoint `from`: the
 * effect's result had been saved, and later somebody went back behind it on purpose (time travel, an edit of the state, a new
 * input for an old checkpoint).
 *
 * Two runs that race on one thread make branches too, but none of them was begun after the other had its result; and a
 * result that never reached a checkpoint belongs to whoever asks again. So both are no forks, and the effect is not repeated.
 *
 * Where the history cannot be read, it is no fork. Cost: reads the checkpoints from the newest back to `from`; asked for only
 * where an effect is found done.
 */
export async function isOnOtherBranch(from: string, config: ToolCallConfig): Promise<boolean> {
  const history = config.configurable?.__pregel_checkpointer as Partial<History> | undefined;
  const here = rootCheckpointOf(config);
  if (typeof history?.list !== "function" || here === undefined) return false;
  try {
    return await branched(history as History, threadOf(config), from, here);
  } catch {
    // A damaged checkpoint: what was done is not done again because of it.
    return false;
  }
}

async function branched(history: History, thread: string, from: string, here: string): Promise<boolean> {
  const past = new Map<string, Past>();
  let newest = here;
  let delivered: Past | undefined;
  for await (const one of history.list({ configurable: { thread_id: thread, checkpoint_ns: "" } })) {
    if (past.size === 0) newest = one.checkpoint.id;
    past.set(one.checkpoint.id, one);
    if (!past.has(from)) continue;
    // not stored yet where durability is async: then it comes behind the newest
    const own = pathTo(past.has(here) ? here : newest, past);
    delivered ??= [...past.values()].find(
      (child) => parentOf(child) === from && !own.includes(child.checkpoint.id),
    );
    if (!delivered) return false;
    const parting = pathTo(from, past).find((id) => own.includes(id));
    if (parting === undefined) continue;
    const first = past.get(own[own.indexOf(parting) - 1] ?? "");
    return (
      first !== undefined &&
      DELIBERATE.has(first.metadata?.source) &&
      first.checkpoint.ts >= delivered.checkpoint.ts
    );
  }
  return false;
}

/** A checkpoint and those before it, newest first, as far as they were read and one further. */
function pathTo(id: string, past: ReadonlyMap<string, Past>): string[] {
  const path: string[] = [];
  for (let at: string | undefined = id; at !== undefined; at = parentOf(past.get(at))) path.push(at);
  return path;
}

function parentOf(one: Past | undefined): string | undefined {
  const id = one?.parentConfig?.configurable?.checkpoint_id;
  return typeof id === "string" ? id : undefined;
}
