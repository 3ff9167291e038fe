import { chunkOf } from "./chunk.ts";
import { type Form, formOf, type Item, reference } from "./node.ts";
import { OP, type Op, PAIRS_AFTER } from "./ops.ts";
import { chunksOf, runsOf } from "./runs.ts";

/** Sizes in characters of stored text. They decide where chunks are cut, not what can be read: changing them needs no new format. */
export interface ChunkSizes {
  /** A container longer than this becomes a chunk of its own. */
  readonly inlineMax: number;
  /** A chunk longer than this is split in runs of its items. */
  readonly splitAbove: number;
  /** Strings at least this long become chunks. */
  readonly textMin: number;
}

const CHUNK_SIZES: ChunkSizes = { inlineMax: 512, splitAbove: 4_096, textMin: 512 };
/** For heads and ledger records: everything in one text. */
export const ONE_PIECE: ChunkSizes = {
  inlineMax: Number.POSITIVE_INFINITY,
  splitAbove: Number.POSITIVE_INFINITY,
  textMin: Number.POSITIVE_INFINITY,
};

/** Turns items into text, and cuts what is long into chunks. The same items give the same chunks, in any process. */
export class Packer {
  readonly sizes: ChunkSizes;

  constructor(sizes: ChunkSizes = CHUNK_SIZES) {
    this.sizes = sizes;
  }

  pack(op: Op, items: readonly Item[]): Form {
    let units = unitsOf(op, items);
    if (!isLonger(units, this.sizes.inlineMax)) {
      return { inline: containerText(op, units), chunks: chunksOf(units) };
    }
    while (units.length > 2 && isLonger(units, this.sizes.splitAbove)) units = runsOf(units);
    return reference(OP.REF, chunkOf(containerText(op, units), chunksOf(units)));
  }
}

function isLonger(units: readonly Form[], max: number): boolean {
  let length = 0;
  for (const unit of units) {
    length += unit.inline.length + 1;
    if (length > max) return true;
  }
  return false;
}

/** The parts between which a container may be cut: its items, or a key with its value. */
function unitsOf(op: Op, items: readonly Item[]): readonly Form[] {
  const pairsAfter = PAIRS_AFTER.get(op) ?? items.length;
  const units: Form[] = [];
  for (let i = 0; i < items.length; i++) {
    const item = formOf(items[i]);
    if (i < pairsAfter) {
      units.push(item);
      continue;
    }
    const value = formOf(items[++i]);
    const chunks = item.chunks.length === 0 ? value.chunks : [...item.chunks, ...value.chunks];
    units.push({ inline: `${item.inline},${value.inline}`, chunks });
  }
  return units;
}

function containerText(op: Op, units: readonly Form[]): string {
  let text = `${op}`;
  for (const unit of units) text += `,${unit.inline}`;
  return `${text},${OP.END}`;
}
