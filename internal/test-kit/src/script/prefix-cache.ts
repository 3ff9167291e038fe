import { createHash } from "node:crypto";
import { quarterTokens } from "../wire/count-tokens.ts";

/** Characters of a block: 128 tokens of latin text, the step in which real prompt caches grow. */
const BLOCK_CHARS = 512;

export interface PrefixCacheOptions {
  /** Shorter matches count as none. Tokens. @default 1024, as providers do */
  readonly minTokens?: number | undefined;
}

/**
 * A provider's prompt cache: how much of a request's beginning was served before.
 *
 * A request is cut into blocks, each named by the hash of all text up to its end, so a lookup walks the request once and
 * compares nothing with older requests. Cost: linear in the request; memory: a 16-byte hash for each block never seen.
 */
export class PrefixCache {
  readonly #seen = new Set<string>();
  readonly #minQuarters: number;

  constructor(options: PrefixCacheOptions = {}) {
    this.#minQuarters = (options.minTokens ?? 1_024) * 4;
  }

  /** Tokens of the longest prefix of `text` that an earlier request began with; remembers the text. */
  serve(text: string): number {
    let hash = "";
    let quarters = 0;
    let cached = 0;
    let matching = true;
    for (let start = 0; start + BLOCK_CHARS <= text.length; start += BLOCK_CHARS) {
      const block = text.slice(start, start + BLOCK_CHARS);
      hash = createHash("sha1").update(hash).update(block, "utf16le").digest("base64").slice(0, 22);
      quarters += quarterTokens(block);
      matching &&= this.#seen.has(hash);
      if (matching) cached = quarters;
      else this.#seen.add(hash);
    }
    return cached >= this.#minQuarters ? Math.floor(cached / 4) : 0;
  }
}
