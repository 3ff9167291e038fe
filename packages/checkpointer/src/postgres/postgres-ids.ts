import { createHash } from "node:crypto";
import type { RecordKey } from "@longhaul/core";

/** 16 bytes in place of parts of an address, which may be longer than an index takes. */
export function idOf(...parts: readonly string[]): Buffer {
  return createHash("sha256").update(JSON.stringify(parts), "utf8").digest().subarray(0, 16);
}

export function recordId({ collection, thread, key }: RecordKey): Buffer {
  return idOf(collection, thread, key);
}
