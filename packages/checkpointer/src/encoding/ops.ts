/**
 * The stored form of a value is a flat list of JSON tokens, so that neither writing nor reading recurses: integers are operations, strings are
 * data (or the key of a pair), `true`, `false` and `null` are themselves, and every number that is data follows `NUM`. A container is its
 * operation, its items, and `END`. Numbers here are part of the stored format and never change their meaning.
 */
export const OP = {
  END: 0,
  OBJECT: 1,
  ARRAY: 2,
  NUM: 3,
  UNDEFINED: 4,
  /** Numbers without a JSON form; the next string is `NaN`, `Infinity`, `-Infinity` or `-0`. */
  SPECIAL: 5,
  /** The next string holds the digits. */
  BIGINT: 6,
  /** Milliseconds, or null for an invalid date. */
  DATE: 7,
  URL: 8,
  /** Source, flags, lastIndex. */
  REGEXP: 9,
  MAP: 10,
  SET: 11,
  /** Kind (`Uint8Array`, `Buffer`, `DataView`, …), base64. */
  BYTES: 12,
  /** Class, message, stack, whether there is a cause, cause, then pairs. */
  ERROR: 13,
  /** An object without prototype. */
  NULL_OBJECT: 14,
  /** The next string is the hash of a chunk that holds this one value. */
  REF: 15,
  /** The next string is the hash of a chunk that holds a run of the container's items. */
  RUN: 16,
  /** The next string is the hash of a chunk that holds a string. */
  TEXT: 17,
  /** Class, id, where the constructor's arguments have it (null: nowhere; with another value: position and value), body. */
  MESSAGE: 18,
  /** A message without its id: pairs, among them the names of the constructor's arguments under `""`. */
  BODY: 19,
  /** Name on the allow-list, then pairs. */
  CLASS: 20,
  /** The next string is a count of absent items of an array. */
  HOLES: 21,
  DELTA_SNAPSHOT: 22,
  /** A string in segments. */
  TEXT_LIST: 23,
  /** An array with own keys beside its items: the array, an object. */
  KEYED_ARRAY: 24,
  /** An object whose prototype is another plain object: that one, then pairs. */
  PROTOTYPED: 25,
} as const;

export type Op = (typeof OP)[keyof typeof OP];

/** Containers whose items come in pairs (key, value) after this many single items. Others have single items only. */
export const PAIRS_AFTER: ReadonlyMap<Op, number> = new Map<Op, number>([
  [OP.OBJECT, 0],
  [OP.NULL_OBJECT, 0],
  [OP.MAP, 0],
  [OP.BODY, 0],
  [OP.CLASS, 1],
  [OP.PROTOTYPED, 1],
  [OP.ERROR, 5],
]);
