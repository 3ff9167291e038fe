import { DamagedRecordError } from "../errors.ts";
import type { Chunk } from "./chunk.ts";
import type { Encoder } from "./encoder.ts";
import { Holes, type Item, TextNode, ValueNode } from "./node.ts";
import { OP, type Op } from "./ops.ts";
import { parseTokens, referencesOf, type Token } from "./references.ts";

/** Reads the text of chunks. A hash that is not there is not in the result. */
export type FetchChunks = (hashes: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** What a chunk was read as: one value, a string, or a run of a container's items. */
interface Read {
  readonly chunk: Chunk;
  readonly items: readonly Item[];
}

/** Items of chunks kept in memory. Nodes are immutable, so all tuples may share them. */
const REMEMBERED_ITEMS = 500_000;
const CONTAINERS: ReadonlySet<number> = new Set<Op>([
  OP.OBJECT,
  OP.ARRAY,
  OP.DATE,
  OP.URL,
  OP.REGEXP,
  OP.MAP,
  OP.SET,
  OP.BYTES,
  OP.ERROR,
  OP.NULL_OBJECT,
  OP.MESSAGE,
  OP.BODY,
  OP.CLASS,
  OP.DELTA_SNAPSHOT,
  OP.TEXT_LIST,
  OP.KEYED_ARRAY,
  OP.PROTOTYPED,
]);

/** Makes nodes of stored text. Reads the chunks level by level, each once. */
export class Decoder {
  readonly #encoder: Encoder;
  #read = new Map<string, Read>();
  #size = 0;

  constructor(encoder: Encoder) {
    this.#encoder = encoder;
  }

  /** Forgets what was read: a thread was deleted or pruned, its chunks may be gone. */
  forget(): void {
    this.#read = new Map();
    this.#size = 0;
  }

  /** @throws DamagedRecordError when a text is not well-formed or a chunk is missing. */
  async decode(texts: readonly string[], fetch: FetchChunks): Promise<Item[]> {
    const roots = texts.map(parseTokens);
    const fetched = await this.#fetchAll(roots, fetch);
    // what this call read must stay until it ends, whatever is forgotten meanwhile
    const read = new Map(fetched.kept);
    for (const hash of fetched.texts.keys()) this.#resolve(hash, fetched.texts, read);
    return roots.map((tokens) => {
      const items = this.#parse(tokens, read);
      if (items.length !== 1) throw malformed("not one value");
      return items[0];
    });
  }

  /** The values of one text that refers to no chunk. */
  decodeAll(text: string): Item[] {
    return this.#parse(parseTokens(text), new Map());
  }

  async #fetchAll(roots: readonly (readonly Token[])[], fetch: FetchChunks) {
    const texts = new Map<string, { readonly text: string; readonly tokens: readonly Token[] }>();
    const kept = new Map<string, Read>();
    let wanted = new Set(roots.flatMap(referencesOf));
    while (wanted.size > 0) {
      const missing: string[] = [];
      for (const hash of wanted) {
        const known = this.#read.get(hash);
        if (known) kept.set(hash, known);
        else missing.push(hash);
      }
      wanted = new Set();
      if (missing.length === 0) break;
      const found = await fetch(missing);
      for (const hash of missing) {
        const text = found.get(hash);
        if (text === undefined) throw malformed(`chunk ${hash} is missing`);
        const tokens = parseTokens(text);
        texts.set(hash, { text, tokens });
        for (const next of referencesOf(tokens)) if (!texts.has(next) && !kept.has(next)) wanted.add(next);
      }
    }
    return { texts, kept };
  }

  /** Parses a chunk after those it refers to, without recursion. */
  #resolve(
    first: string,
    texts: ReadonlyMap<string, { readonly text: string; readonly tokens: readonly Token[] }>,
    read: Map<string, Read>,
  ): void {
    const stack = [first];
    const open = new Set<string>();
    for (let hash = stack.at(-1); hash !== undefined; hash = stack.at(-1)) {
      const source = texts.get(hash);
      if (read.has(hash) || !source) {
        stack.pop();
        continue;
      }
      const references = referencesOf(source.tokens);
      const missing = references.filter((reference) => !read.has(reference));
      if (missing.length > 0) {
        // content addresses cannot form a cycle unless someone forged a row
        if (open.has(hash)) throw malformed(`chunk ${hash} contains itself`);
        open.add(hash);
        stack.push(...missing);
        continue;
      }
      stack.pop();
      open.delete(hash);
      const children = references.map((reference) => (read.get(reference) as Read).chunk);
      const chunk: Chunk = { hash, text: source.text, children };
      const entry: Read = { chunk, items: this.#parse(source.tokens, read, chunk) };
      read.set(hash, entry);
      this.#keep(hash, entry);
    }
  }

  #keep(hash: string, entry: Read): void {
    this.#size += 4 + entry.items.length;
    if (this.#size > REMEMBERED_ITEMS) this.forget();
    this.#read.set(hash, entry);
  }

  /** Tokens to items. With `chunk`, a single container is the value of that chunk and stands in its parent as a reference. */
  #parse(tokens: readonly Token[], read: ReadonlyMap<string, Read>, chunk?: Chunk): Item[] {
    const root: Item[] = [];
    const stack: { readonly op: Op; readonly items: Item[] }[] = [];
    let items = root;
    let i = 0;
    const nextString = () => {
      const token = tokens[++i];
      if (typeof token !== "string") throw malformed("a string is missing");
      return token;
    };
    for (; i < tokens.length; i++) {
      const token = tokens[i] as Token;
      if (typeof token !== "number") {
        items.push(token);
        continue;
      }
      switch (token) {
        case OP.NUM: {
          const value = tokens[++i];
          if (typeof value !== "number") throw malformed("a number is missing");
          items.push(value);
          break;
        }
        case OP.UNDEFINED:
          items.push(undefined);
          break;
        case OP.SPECIAL:
          items.push(specialNumber(nextString()));
          break;
        case OP.BIGINT:
          items.push(bigint(nextString()));
          break;
        case OP.HOLES:
          items.push(new Holes(Number(nextString())));
          break;
        case OP.REF:
        case OP.TEXT: {
          const target = read.get(nextString());
          if (target?.items.length !== 1) throw malformed("a reference to something that is no single value");
          items.push(token === OP.TEXT ? this.#text(target) : (target.items[0] as Item));
          break;
        }
        case OP.RUN: {
          const target = read.get(nextString());
          if (!target) throw malformed("a reference to a missing run");
          for (const item of target.items) items.push(item);
          break;
        }
        case OP.END: {
          const done = stack.pop();
          if (!done) throw malformed("an end without a beginning");
          items = stack.at(-1)?.items ?? root;
          const isWhole =
            chunk !== undefined && stack.length === 0 && i === tokens.length - 1 && root.length === 0;
          const form = isWhole ? { inline: `${OP.REF},"${chunk.hash}"`, chunks: [chunk] } : undefined;
          items.push(new ValueNode(done.op, done.items, this.#encoder.packer, form));
          break;
        }
        default:
          if (!CONTAINERS.has(token))
            throw malformed(`operation ${token} is unknown; a newer version may have written it`);
          items = [];
          stack.push({ op: token as Op, items });
      }
    }
    if (stack.length > 0) throw malformed("an end is missing");
    return root;
  }

  #text(read: Read): Item {
    const text = read.items[0];
    if (typeof text !== "string") throw malformed("a text that is no string");
    return new TextNode(text, read.chunk);
  }
}

function specialNumber(name: string): number {
  switch (name) {
    case "NaN":
      return Number.NaN;
    case "Infinity":
      return Number.POSITIVE_INFINITY;
    case "-Infinity":
      return Number.NEGATIVE_INFINITY;
    case "-0":
      return -0;
    default:
      throw malformed(`the number ${name} is unknown`);
  }
}

function bigint(digits: string): bigint {
  if (!/^-?\d+$/.test(digits)) throw malformed("a BigInt is no number");
  return BigInt(digits);
}

function malformed(reason: string): DamagedRecordError {
  return new DamagedRecordError({ reason });
}
