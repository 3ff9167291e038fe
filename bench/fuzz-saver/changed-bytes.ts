import type { Draw } from "./base.ts";

/** @returns how, and the changed copy; it may happen to be equal */
export function changedBytes(bytes: Buffer, draw: Draw): [string, Buffer] {
  const at = draw.below(bytes.length);
  const copy = Buffer.from(bytes);
  switch (draw.below(9)) {
    case 0:
      return [`cut to ${at}`, copy.subarray(0, at)];
    case 1:
      return ["longer", Buffer.concat([copy, draw.bytes(1 + draw.below(20))])];
    case 2:
      return [`zeros from ${at}`, copy.fill(0, at)];
    case 3:
      return ["random bytes", draw.bytes(copy.length)];
    case 4: {
      const length = 1 + draw.below(8);
      const rest = Buffer.concat([copy.subarray(0, at), copy.subarray(at + length)]);
      return [`${length} bytes left out at ${at}`, rest];
    }
    case 5: {
      // header bytes are few, and each means something
      const place = draw.below(Math.min(12, copy.length));
      copy[place] = draw.below(256);
      return [`header byte ${place}`, copy];
    }
    default: {
      const bit = draw.below(8);
      copy[at] = (copy[at] as number) ^ (1 << bit);
      return [`bit ${bit} of byte ${at}`, copy];
    }
  }
}
