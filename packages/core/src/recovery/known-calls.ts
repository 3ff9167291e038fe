import type { EffectLedger } from "../effects/effect-ledger.ts";
import type { EffectRecord } from "../effects/effect-record.ts";
import type { OpenCall } from "./open-calls.ts";

/** What the effect ledger holds of a call. */
export interface KnownCall {
  readonly key: string;
  readonly record: EffectRecord;
}

/**
 * The effects of calls that the step behind the checkpoint `from` left open, by call id. A call is missing where nothing is
 * recorded of it, or where several effects may be its own (providers repeat ids). Cost: one listing of the thread's effects.
 */
export async function knownCalls(
  ledger: EffectLedger,
  threadId: string,
  from: string | null,
  calls: readonly OpenCall[],
): Promise<ReadonlyMap<string, KnownCall>> {
  const found = new Map<string, KnownCall[]>();
  if (from === null || calls.length === 0) return new Map();
  for await (const { key, record } of ledger.list(threadId)) {
    const { callId, tool } = record;
    if (record.from !== from || callId === undefined) continue;
    if (!calls.some(({ id, name }) => id === callId && name === tool)) continue;
    found.set(callId, [...(found.get(callId) ?? []), { key, record }]);
  }
  return new Map(
    [...found].flatMap(([id, [one, ...others]]) => (one && others.length === 0 ? [[id, one]] : [])),
  );
}
