import { DamagedRecordError } from "../errors.ts";
import type { Chunk } from "./chunk.ts";
import type { Encoder } from "./encoder.ts";
import { Holes, type Item, TextNode, ValueNode } from "./node.ts";
import { OP, type Op } from "./ops.ts";
import { parseTokens, referencesOf, type Token } from "./references.ts";

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

/** A chunk that was fetched and is not resolved yet. */
interface Unresolved extends Fetched {
  readonly references: readonly string[];
}

/** A chunk that is in the storage. */
class StoredChunk implements Chunk {
  readonly hash: string;
  readonly children: readonly Chunk[];
  readonly #text: () => string;

  constructor(hash: string, children: readonly Chunk[], text: () => string) {
    this.hash = hash;
    this.children = children;
    this.#text = text;
  }

  get text(): string {
    return this.#text();
  }
}

/** What a chunk was read as: one value, a string, or a run of a container's items. */
interface Read {
  readonly chunk: Chunk;
  readonly items: readonly Item[];
}

/** Characters of chunks kept in memory. Nodes are immutable, so all tuples may share them. */
const REMEMBERED = 16_000_000;
/** What a chunk costs besides its text, in characters. */
const OVERHEAD = 500;
const LEAVES: ReadonlySet<Op> = new Set<Op>([
  OP.END,
  OP.NUM,
  OP.UNDEFINED,
  OP.SPECIAL,
  OP.BIGINT,
  OP.REF,
  OP.RUN,
  OP.TEXT,
  OP.HOLES,
]);
/** By operation. */
const CONTAINERS: readonly boolean[] = Object.values(OP).reduce<boolean[]>((all, op) => {
  all[op] = !LEAVES.has(op);
  return all;
}, []);

/** Makes nodes of stored text. Reads the chunks level by level, each once. */
export class Decoder {
  readonly #encoder: Encoder;
  readonly #empties: ValueNode[] = [];
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
    // what this call read must stay until it ends, whatever is forgotten meanwhile
    const read = new Map<string, Read>();
    const fetched = await this.#fetchAll(roots, fetch, read);
    // mostly the last ones refer to no others
    for (const hash of [...fetched.keys()].reverse()) this.#resolve(hash, fetched, read);
    return roots.map((tokens) => {
      const items = this.#parse(tokens, read);
      if (items.length !== 1) throw malformed("not one value");
      return items[0];
    });
  }

  /** The values of one text that refers to no chunk. */
  decodeAll(text: string): readonly Item[] {
    return this.#parse(parseTokens(text), new Map());
  }

  /** Everything below `roots`, level by level; what is known already goes to `read`. */
  async #fetchAll(
    roots: readonly (readonly Token[])[],
    fetch: FetchChunks,
    read: Map<string, Read>,
  ): Promise<Map<string, Unresolved>> {
    const all = new Map<string, Unresolved>();
    let wanted = new Set(roots.flatMap(referencesOf));
    while (wanted.size > 0) {
      const missing: string[] = [];
      for (const hash of wanted) {
        const known = this.#read.get(hash);
        if (known) read.set(hash, known);
        else missing.push(hash);
      }
      wanted = new Set();
      if (missing.length === 0) break;
      const found = await fetch(missing);
      for (const hash of missing) {
        const fetched = found.get(hash);
        if (fetched === undefined) throw malformed(`chunk ${hash} is missing`);
        const { tokens, text, chars } = fetched;
        const references = referencesOf(tokens);
        all.set(hash, { tokens, references, text, chars });
        for (const next of references) if (!all.has(next) && !read.has(next)) wanted.add(next);
      }
    }
    return all;
  }

  /** Parses a chunk after those it refers to, without recursion. */
  #resolve(first: string, fetched: ReadonlyMap<string, Unresolved>, read: Map<string, Read>): void {
    const stack = [first];
    let open: Set<string> | undefined;
    for (let hash = stack.at(-1); hash !== undefined; hash = stack.at(-1)) {
      const source = fetched.get(hash);
      if (read.has(hash) || !source) {
        stack.pop();
        continue;
      }
      const children = childrenOf(source, read);
      if (!children) {
        // content addresses cannot form a cycle unless someone forged a row
        open ??= new Set();
        if (open.has(hash)) throw malformed(`chunk ${hash} contains itself`);
        open.add(hash);
        for (const reference of source.references) if (!read.has(reference)) stack.push(reference);
        continue;
      }
      stack.pop();
      open?.delete(hash);
      const chunk = new StoredChunk(hash, children, source.text);
      const entry: Read = { chunk, items: this.#parse(source.tokens, read, chunk) };
      read.set(hash, entry);
      this.#keep(hash, entry, source.chars);
    }
  }

  #keep(hash: string, entry: Read, chars: number): void {
    this.#size += OVERHEAD + chars;
    if (this.#size > REMEMBERED) this.forget();
    this.#read.set(hash, entry);
  }

  /** Tokens to items. With `chunk`, a single container is the value of that chunk and stands in its parent as a reference. */
  #parse(tokens: readonly Token[], read: ReadonlyMap<string, Read>, chunk?: Chunk): readonly Item[] {
    // the items of all open containers, one after another: a container's own array gets the right size at once
    const items: Item[] = [];
    const open: { readonly op: Op; readonly start: number }[] = [];
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
          const done = open.pop();
          if (!done) throw malformed("an end without a beginning");
          const isWhole = open.length === 0 && done.start === 0 && i === tokens.length - 1;
          if (items.length === done.start && !isWhole) items.push(this.#empty(done.op));
          else {
            const own = items.splice(done.start);
            items.push(new ValueNode(done.op, own, this.#encoder.packer, isWhole ? chunk : undefined));
          }
          break;
        }
        default:
          if (CONTAINERS[token] !== true)
            throw malformed(`operation ${token} is unknown; a newer version may have written it`);
          open.push({ op: token as Op, start: items.length });
      }
    }
    if (open.length > 0) throw malformed("an end is missing");
    return items;
  }

  /** Nodes are immutable, so one is enough. */
  #empty(op: Op): ValueNode {
    this.#empties[op] ??= new ValueNode(op, [], this.#encoder.packer);
    return this.#empties[op];
  }

  #text(read: Read): Item {
    const text = read.items[0];
    if (typeof text !== "string") throw malformed("a text that is no string");
    return new TextNode(text, read.chunk);
  }
}

const NONE: readonly never[] = [];

/** The chunks that `source` refers to; undefined where one of them is not read yet. */
function childrenOf(source: Unresolved, read: ReadonlyMap<string, Read>): readonly Chunk[] | undefined {
  if (source.references.length === 0) return NONE;
  const children: Chunk[] = [];
  for (const reference of source.references) {
    const child = read.get(reference);
    if (!child) return undefined;
    children.push(child.chunk);
  }
  return children;
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
