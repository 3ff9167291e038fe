/**
 * How far the work is, as a point that only moves forward: a lost fact makes the answer wrong, it never makes the work begin
 * again. Written into each message of the brain and read back from whatever is visible.
 */
export interface Position {
  /** Sub-steps of reading done: five for each supplier (four pages, then the registry). */
  readonly read: number;
  /** Highest supplier number that was asked for a quote, and whose quote was read. */
  readonly quoted: number;
  readonly quoteRead: number;
  /** Searches of the past made: 1 before the quotes, 2 for suppliers still without one, 3 before the samples. */
  readonly reviewed: number;
  /** Sub-steps of sampling done: reserve and look up, for each of three. */
  readonly sampled: number;
  /** 1: mail tried, 2: looked up, 3: tried again, 4: settled. */
  readonly mail: number;
  readonly ordered: number;
}

export const START: Position = {
  read: 0,
  quoted: 0,
  quoteRead: 0,
  reviewed: 0,
  sampled: 0,
  mail: 0,
  ordered: 0,
};

const FIELDS = Object.keys(START) as (keyof Position)[];
const PATTERN = new RegExp(`Progress: ${FIELDS.map((field) => `${field} (\\d+)`).join(", ")}\\.`, "g");

export function progressNote(position: Position): string {
  return `Progress: ${FIELDS.map((field) => `${field} ${position[field]}`).join(", ")}.`;
}

export function findPositions(text: string): readonly Position[] {
  return [...text.matchAll(PATTERN)].map(
    (match) =>
      Object.fromEntries(FIELDS.map((field, i) => [field, Number(match[i + 1])])) as unknown as Position,
  );
}

export function furthest(a: Position, b: Position): Position {
  return Object.fromEntries(
    FIELDS.map((field) => [field, Math.max(a[field], b[field])]),
  ) as unknown as Position;
}
