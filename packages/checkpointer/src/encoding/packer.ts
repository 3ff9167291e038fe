import { type Chunk, chunkOf } from "./chunk.ts";
import { type Form, formOf, type Item } from "./node.ts";
import { OP, type Op, PAIRS_AFTER } from "./ops.ts";
import { runsOf, type Unit } from "./runs.ts";

/** Sizes in characters of stored text. They decide where chunks are cut, not what can be read: changing them needs no new format. */
export interface ChunkSizes {
  /** A container longer than this becomes a chunk of its own. */
  readonly inlineMax: number;
  /** A chunk longer than this is split in runs of its items. */
  readonly splitAbove: number;
  /** Strings at least this long become chunks. */
  readonly textMin: number;
}

export const CHUNK_SIZES: ChunkSizes = { inlineMax: 256, splitAbove: 1024, textMin: 512 };
/** For heads and ledger records: everything in one text. */
export const ONE_PIECE: ChunkSizes = {
  inlineMax: Number.POSITIVE_INFINITY,
  splitAbove: Number.POSITIVE_INFINITY,
  textMin: Number.POSITIVE_INFINITY,
};

const RECENT_RUNS = 20_000;

/** Turns items into text, and cuts what is long into chunks. The same items give the same chunks, in any process. */
export class Packer {
  readonly sizes: ChunkSizes;
  /** Runs of a growing list are asked for at each step; by their text, to hash each once. */
  #runs = new Map<string, Chunk>();

  constructor(sizes: ChunkSizes = CHUNK_SIZES) {
    this.sizes = sizes;
  }

  pack(op: Op, items: readonly Item[]): Form {
    let units = unitsOf(op, items);
    let length = lengthOf(units);
    if (length <= this.sizes.inlineMax) return { inline: containerText(op, units), chunks: chunksOf(units) };
    while (length > this.sizes.splitAbove && units.length > 2) {
      units = runsOf(units).map((run) => {
        const chunk = this.#runChunk(run);
        return { text: `${OP.RUN},"${chunk.hash}"`, chunks: [chunk] };
      });
      length = lengthOf(units);
    }
    const chunk = chunkOf(containerText(op, units), chunksOf(units));
    return { inline: `${OP.REF},"${chunk.hash}"`, chunks: [chunk] };
  }

  #runChunk(units: readonly Unit[]): Chunk {
    const text = units.map((unit) => unit.text).join(",");
    const hit = this.#runs.get(text);
    if (hit) return hit;
    const chunk = chunkOf(text, chunksOf(units));
    if (this.#runs.size >= RECENT_RUNS) this.#runs = new Map();
    this.#runs.set(text, chunk);
    return chunk;
  }
}

const NO_CHUNKS: readonly Chunk[] = [];

function lengthOf(units: readonly Unit[]): number {
  let length = 0;
  for (const unit of units) length += unit.text.length + 1;
  return length;
}

function unitsOf(op: Op, items: readonly Item[]): readonly Unit[] {
  const pairsAfter = PAIRS_AFTER.get(op) ?? items.length;
  const units: Unit[] = [];
  for (let i = 0; i < items.length; i++) {
    const { inline, chunks } = formOf(items[i]);
    if (i < pairsAfter) {
      units.push({ text: inline, chunks });
      continue;
    }
    const value = formOf(items[++i]);
    const both = chunks.length === 0 ? value.chunks : [...chunks, ...value.chunks];
    units.push({ text: `${inline},${value.inline}`, chunks: both });
  }
  return units;
}

function chunksOf(units: readonly Unit[]): readonly Chunk[] {
  let result: Chunk[] | undefined;
  for (const unit of units) {
    if (unit.chunks.length === 0) continue;
    result ??= [];
    for (const chunk of unit.chunks) result.push(chunk);
  }
  return result ?? NO_CHUNKS;
}

function containerText(op: Op, units: readonly Unit[]): string {
  let text = `${op}`;
  for (const unit of units) text += `,${unit.text}`;
  return `${text},${OP.END}`;
}
