/** Characters from which on a string is cut. Below, writing it again costs little, and reading it is one row. */
export const SEGMENTS_ABOVE = 16_384;
/** Characters of a segment: at most, which bounds a record's size, and at least. */
const SEGMENT_MAX = 65_536;
const SEGMENT_MIN = 4_096;
/** A border comes, after the least length, at one place of 2 ** 13. */
const BORDER = 32 - 13;
const GEAR = Uint32Array.from({ length: 256 }, (_, i) => scrambled(i + 1));

/**
 * Cuts a very long string at places that follow from the 32 characters before them, so that a change at its beginning, in its middle or at
 * its end changes only the segments it touches, and all others are stored already.
 */
export function segmentsOf(text: string): string[] {
  const segments: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = endOf(text, start);
    segments.push(text.slice(start, end));
    start = end;
  }
  return segments;
}

function endOf(text: string, start: number): number {
  const last = Math.min(text.length, start + SEGMENT_MAX);
  let hash = 0;
  for (let i = start + SEGMENT_MIN - 32; i < last; ) {
    hash = ((hash << 1) + (GEAR[text.charCodeAt(i++) & 255] as number)) | 0;
    if (hash >>> BORDER === 0 && i >= start + SEGMENT_MIN) return i;
  }
  return last;
}

function scrambled(n: number): number {
  const mixed = Math.imul(n ^ (n << 13), 0x9e3779b1);
  return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
}
