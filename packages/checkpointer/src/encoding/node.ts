import type { Chunk } from "./chunk.ts";
import { OP, type Op } from "./ops.ts";
import type { Packer } from "./packer.ts";

/** Absent items of a sparse array. */
export class Holes {
  readonly count: number;
  constructor(count: number) {
    this.count = count;
  }
}

type Primitive = string | number | bigint | boolean | null | undefined;
export type Item = Primitive | Holes | ValueNode | TextNode;

/** How something stands in its container, and the chunks that this text refers to. */
export interface Form {
  readonly inline: string;
  readonly chunks: readonly Chunk[];
  /** Kept by `runs.ts`: nodes live as long as their values, and long lists are cut anew at each step. */
  cut?: CutMemory;
}

/** What is remembered of a form as an item of a long list. */
export interface CutMemory {
  /** Decides whether a run ends after this item. */
  readonly mark: number;
  /** The run that last began with this item. */
  run?: {
    readonly units: readonly Form[];
    readonly form: Form;
    /** Whether it ended by its own items, and not because the list did. */
    readonly isClosed: boolean;
  };
}

/**
 * An immutable copy of a value in stored shape: the shadow that later values are compared with, and the source of its text.
 * It shares its strings with the value it was made of. There are as many as containers in a state: fields are declared only,
 * since initialising them costs more than all else here.
 */
export class ValueNode {
  declare readonly op: Op;
  declare readonly items: readonly Item[];
  declare private readonly packer: Packer;
  declare private readonly chunk: Chunk | undefined;
  declare private made: Form | undefined;

  /** @param chunk Where the value is stored as a chunk of its own; else the packer decides. */
  constructor(op: Op, items: readonly Item[], packer: Packer, chunk?: Chunk) {
    this.op = op;
    this.items = items;
    this.packer = packer;
    this.chunk = chunk;
    this.made = undefined;
  }

  get form(): Form {
    this.made ??= this.chunk ? reference(OP.REF, this.chunk) : this.packer.pack(this.op, this.items);
    return this.made;
  }
}

/** A long string, stored as a chunk. */
export class TextNode {
  readonly text: string;
  readonly #chunk: Chunk;
  #form: Form | undefined;

  constructor(text: string, chunk: Chunk) {
    this.text = text;
    this.#chunk = chunk;
  }

  get form(): Form {
    this.#form ??= reference(OP.TEXT, this.#chunk);
    return this.#form;
  }
}

export function reference(op: Op, chunk: Chunk): Form {
  return { inline: `${op},"${chunk.hash}"`, chunks: [chunk] };
}

const NO_CHUNKS: readonly Chunk[] = [];

export function formOf(item: Item): Form {
  if (item instanceof ValueNode || item instanceof TextNode) return item.form;
  return { inline: primitiveText(item), chunks: NO_CHUNKS };
}

function primitiveText(item: Primitive | Holes): string {
  switch (typeof item) {
    case "string":
      return JSON.stringify(item);
    case "number":
      if (Object.is(item, -0)) return `${OP.SPECIAL},"-0"`;
      return Number.isFinite(item) ? `${OP.NUM},${item}` : `${OP.SPECIAL},"${item}"`;
    case "bigint":
      return `${OP.BIGINT},"${item}"`;
    case "boolean":
      return item ? "true" : "false";
    case "undefined":
      return `${OP.UNDEFINED}`;
    default:
      return item === null ? "null" : `${OP.HOLES},"${item.count}"`;
  }
}
