import { DamagedRecordError } from "../errors.ts";
import type { Chunk } from "./chunk.ts";
import type { Item } from "./node.ts";
import { OP, type Op } from "./ops.ts";
import type { Token } from "./references.ts";

/** A text of the storage with all that it refers to. */
export interface StoredText {
  readonly tokens: readonly Token[];
  /** What its references stand for, in their order. */
  readonly children: readonly StoredChunk[];
}

/** A chunk that is in the storage. Shared by all texts that refer to it. */
export class StoredChunk implements StoredText, Chunk {
  readonly hash: string;
  readonly tokens: readonly Token[];
  /** Set once, when all of them are read. */
  children: readonly StoredChunk[] = [];
  /** Set once, by `nodesOf`. */
  items: readonly Item[] | undefined;
  readonly #text: () => string;

  constructor(hash: string, tokens: readonly Token[], text: () => string) {
    this.hash = hash;
    this.tokens = tokens;
    this.#text = text;
  }

  /** Read again, since it is hardly ever asked for. */
  get text(): string {
    return this.#text();
  }
}

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
/** By operation: whether it begins a container. */
const CONTAINERS: readonly boolean[] = Object.values(OP).reduce<boolean[]>((all, op) => {
  all[op] = !LEAVES.has(op);
  return all;
}, []);

export function containerOp(token: number): Op {
  if (CONTAINERS[token] !== true)
    throw malformed(`operation ${token} is unknown; a newer version may have written it`);
  return token as Op;
}

export function stringAt(tokens: readonly Token[], at: number): string {
  const token = tokens[at];
  if (typeof token !== "string") throw malformed("a string is missing");
  return token;
}

export function numberAt(tokens: readonly Token[], at: number): number {
  const token = tokens[at];
  if (typeof token !== "number") throw malformed("a number is missing");
  return token;
}

export function childAt({ children }: StoredText, at: number): StoredChunk {
  const child = children[at];
  if (!child) throw malformed("a reference where none may stand");
  return child;
}

/** The string that a text chunk holds. */
export function textOf({ tokens }: StoredText): string {
  const [text] = tokens;
  if (tokens.length !== 1 || typeof text !== "string") throw malformed("a text that is no string");
  return text;
}

export function specialNumber(name: string): number {
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

export function bigint(digits: string): bigint {
  if (!/^-?\d+$/.test(digits)) throw malformed("a BigInt is no number");
  return BigInt(digits);
}

export function malformed(reason: string): DamagedRecordError {
  return new DamagedRecordError({ reason });
}
