const COUNTER_DIGITS = 9;

/**
 * Channel versions that no two branches share: a growing counter, then a tag of this source, then a count of its own. Two children
 * of one checkpoint get different versions, so each keeps its values. Fixed widths and lower-case letters make string order, code unit or
 * locale, the order of the counters.
 */
export class VersionSource {
  readonly #tag: string;
  readonly #random: () => number;
  #count = 0;

  constructor(random: () => number) {
    let tag = "";
    while (tag.length < 8) tag += Math.floor(random() * 36).toString(36);
    this.#tag = tag;
    this.#random = random;
  }

  /** Of a number, as savers that count make them, the next is a number: the next whole one with a fraction that no other branch has. */
  next(current: string | undefined): string;
  next(current: string | number | undefined): string | number;
  next(current: string | number | undefined): string | number {
    if (typeof current === "number") return Math.floor(current) + 1 + this.#random();
    const counter = current === undefined ? 0 : Number.parseInt(current, 10) || 0;
    this.#count += 1;
    return `${String(counter + 1).padStart(COUNTER_DIGITS, "0")}.${this.#tag}.${this.#count.toString(36)}`;
  }
}
