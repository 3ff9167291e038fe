import { parseTokens, referencesOf, type Token } from "./references.ts";
import { malformed, StoredChunk, type StoredText } from "./stored-text.ts";

/** A chunk as the storage has it. */
export interface Fetched {
  readonly tokens: readonly Token[];
  /** Read again, since it is hardly ever asked for. */
  readonly text: () => string;
  /** About the length of the text. */
  readonly chars: number;
}

/** Reads chunks. A hash that is not there is not in the result. */
export type FetchChunks = (hashes: readonly string[]) => Promise<ReadonlyMap<string, Fetched>>;

/** Characters of chunks kept in memory. They never change, so all tuples may share them. */
const REMEMBERED = 16_000_000;
/** What a chunk costs besides its text, in characters. */
const OVERHEAD = 500;

/** Something whose children are to be found. */
interface Unlinked {
  readonly text: { children: readonly StoredChunk[] };
  readonly references: readonly string[];
}

/** Brings the chunks of stored texts from the storage, level by level, each once. */
export class Decoder {
  #known = new Map<string, StoredChunk>();
  #size = 0;

  /** @throws DamagedRecordError when a text is not well-formed or a chunk is missing. */
  async decode(texts: readonly string[], fetch: FetchChunks): Promise<StoredText[]> {
    const roots = texts.map((text) => ({
      tokens: parseTokens(text),
      children: [] as readonly StoredChunk[],
    }));
    // what this call read must stay until it ends, whatever is forgotten meanwhile
    const read = new Map<string, StoredChunk>();
    const unlinked: Unlinked[] = roots.map((text) => ({ text, references: referencesOf(text.tokens) }));
    const fetched: { readonly chunk: StoredChunk; readonly chars: number }[] = [];
    for (let next = 0; next < unlinked.length; ) {
      const missing = new Set<string>();
      for (; next < unlinked.length; next++)
        for (const hash of (unlinked[next] as Unlinked).references) {
          const known = read.has(hash) ? undefined : this.#known.get(hash);
          if (known) read.set(hash, known);
          else if (!read.has(hash)) missing.add(hash);
        }
      if (missing.size === 0) break;
      const found = await fetch([...missing]);
      for (const hash of missing) {
        const source = found.get(hash);
        if (source === undefined) throw malformed(`chunk ${hash} is missing`);
        const chunk = new StoredChunk(hash, source.tokens, source.text);
        read.set(hash, chunk);
        fetched.push({ chunk, chars: source.chars });
        unlinked.push({ text: chunk, references: referencesOf(source.tokens) });
      }
    }
    for (const { text, references } of unlinked)
      if (references.length > 0) text.children = references.map((hash) => read.get(hash) as StoredChunk);
    for (const { chunk, chars } of fetched) this.#keep(chunk, chars);
    return roots;
  }

  #keep(chunk: StoredChunk, chars: number): void {
    this.#size += OVERHEAD + chars;
    if (this.#size > REMEMBERED) {
      this.#known = new Map();
      this.#size = OVERHEAD + chars;
    }
    this.#known.set(chunk.hash, chunk);
  }
}
