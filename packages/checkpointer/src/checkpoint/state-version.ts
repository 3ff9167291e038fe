import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { DamagedRecordError } from "../errors.ts";

/** Metadata field that says for which version of the code a checkpoint was made. Absent: 0. */
export const STATE_VERSION = "longhaul_state_version";

/** @throws DamagedRecordError for a stamp that no version of this library makes */
export function stateVersionOf(metadata: CheckpointMetadata | undefined): number {
  const stamp = (metadata as Record<string, unknown> | undefined)?.[STATE_VERSION] ?? 0;
  if (typeof stamp !== "number" || !Number.isSafeInteger(stamp) || stamp < 0)
    throw new DamagedRecordError({ reason: `${STATE_VERSION} is ${JSON.stringify(stamp)}` });
  return stamp;
}

/**
 * A pending write with the version of the code that made it. Writes need their own: newer code adds some to a checkpoint that older code
 * made, and those must not be migrated again.
 */
export class VersionedWrite {
  readonly version: number;
  readonly value: unknown;

  constructor(version: number, value: unknown) {
    this.version = version;
    this.value = value;
  }
}

const MARK = "~";
const DIGITS = 4;
/** For savers that count: less than what separates two versions of one channel, as `VersionSource` and `migrateFrom` make them. */
const UNIT = 2 ** -20;

/**
 * Version of a channel whose value a migration made of the one at `version`. It stands between `version` and all later ones, so that what
 * nodes have seen stays comparable, and the stored value keeps its own.
 *
 * @param origin for a channel that had no version: the checkpoint, so that two branches do not share one
 */
export function migratedVersion(
  version: string | number,
  step: number,
  origin?: string | undefined,
): string | number {
  if (typeof version === "number") {
    const own = origin === undefined ? 0 : hash20(origin) * UNIT * UNIT;
    return version + step * UNIT + own;
  }
  const [base] = version.split(MARK, 1);
  const mark = `${base}${MARK}${String(step).padStart(DIGITS, "0")}`;
  return origin === undefined ? mark : `${mark}.${origin}`;
}

/** Whether a value at this version may have to be stored by whoever carries it on. */
export function isMigratedVersion(version: string | number | undefined): boolean {
  if (typeof version === "string") return version.includes(MARK);
  return typeof version === "number" && !Number.isInteger(version);
}

function hash20(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash >>> 12;
}
