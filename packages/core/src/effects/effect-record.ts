import { StateFormatError } from "../errors.ts";
import type { Json } from "../json/json.ts";
import { type Owner, readOwner } from "../storage/owner.ts";

/**
 * - `claimed`: somebody runs it; the claim is lost when its owner died or its lease ran out.
 * - `suspended`: it asked a human and will be run from its top again; nobody holds it.
 * - `failed`: it surely did not happen; may run.
 * - `unknown`: it may have happened; never run without a reason to.
 * - `committed`: it happened, or was refused for good; `outcome` says which.
 */
export type EffectState = "claimed" | "suspended" | "failed" | "unknown" | "committed";

/** What a call came to, as JSON. `value` is null where the result could not be stored. */
export type StoredOutcome =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly message: string };

/** One effect in the collection `effects`. Persisted: change it only with a new `v`. */
export interface EffectRecord {
  readonly v: 1;
  readonly state: EffectState;
  readonly tool: string;
  /** Digest of tool, server, version and effective arguments; another one under the same key is a conflict. */
  readonly payload: string;
  /** Effective arguments, for people; null above 16,000 characters. */
  readonly args: Json;
  /** What the model proposed, where a human or a middleware changed it. */
  readonly proposed?: Json;
  /** Id of the call that it was last claimed for, and the root graph's checkpoint from which that ran. */
  readonly callId?: string;
  readonly from?: string;
  /** Runs of the tool so far, the current one included; from 1. */
  readonly attempt: number;
  /** Of the claim; whoever holds it may write the outcome. */
  readonly token: string;
  readonly owner: Owner;
  /** Milliseconds since 1970. */
  readonly leaseUntil: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** One line: why it failed or is unknown. */
  readonly reason?: string;
  readonly outcome?: StoredOutcome;
  /** What the tool saved for itself. */
  readonly progress?: Json;
  /** Answers of a human that the guard itself consumed, by graph task: they come first when the task runs again. */
  readonly asked?: { readonly task: string; readonly count: number };
}

const STATES: readonly unknown[] = ["claimed", "suspended", "failed", "unknown", "committed"];

/** Validates a record. @throws StateFormatError: a damaged record is never taken for a first run. */
export function readEffectRecord(value: unknown): EffectRecord {
  const record = value as Partial<EffectRecord> | null | undefined;
  const sound =
    typeof record === "object" &&
    record !== null &&
    record.v === 1 &&
    STATES.includes(record.state) &&
    typeof record.tool === "string" &&
    typeof record.payload === "string" &&
    typeof record.token === "string" &&
    typeof record.attempt === "number" &&
    typeof record.leaseUntil === "number" &&
    (record.state !== "committed" || typeof record.outcome?.ok === "boolean");
  if (!sound)
    throw new StateFormatError({
      channel: "effects",
      found: value,
      expected: "an effect record of version 1",
    });
  readOwner(record.owner);
  return record as EffectRecord;
}
