import { type Fields, isStoredField } from "./classes.ts";

/**
 * The references that a message and the objects in it held when it was last found unchanged. If each still holds the same, under the
 * same names and in the same order, the message is as it was; if not, it may be all the same, and is compared by value.
 *
 * Each message of a thread is asked for at each step, so this is one flat loop that allocates nothing.
 */
export class ReferenceCopy {
  readonly #objects: readonly object[];
  readonly #prototypes: readonly (object | null)[];
  /** Names of an object's fields, shared by all that have the same; null for an array. */
  readonly #keys: readonly (readonly string[] | null)[];
  /** Of one object after the other. Before an array's items, their number. */
  readonly #values: readonly unknown[];

  private constructor(
    objects: readonly object[],
    keys: readonly (readonly string[] | null)[],
    values: readonly unknown[],
  ) {
    this.#objects = objects;
    this.#prototypes = objects.map((object) => Object.getPrototypeOf(object) as object | null);
    this.#keys = keys;
    this.#values = values;
  }

  /** @returns undefined where the message holds something else than plain objects, dense arrays and primitives */
  static of(message: object): ReferenceCopy | undefined {
    const objects = [message];
    const keys: (readonly string[] | null)[] = [];
    const values: unknown[] = [];
    const known = new Set(objects);
    const visit = (value: unknown) => {
      values.push(value === 0 || Number.isNaN(value) ? new Exactly(value as number) : value);
      if (typeof value !== "object" || value === null || known.has(value)) return;
      known.add(value);
      objects.push(value);
    };
    for (const object of objects) {
      if (Array.isArray(object)) {
        keys.push(null);
        values.push(object.length);
        // an absent item reads as undefined, which is another value
        for (const item of object) if (item === undefined) return undefined;
        object.forEach(visit);
      } else if (object === message || Object.getPrototypeOf(object) === Object.prototype) {
        const names: string[] = [];
        for (const key in object) {
          names.push(key);
          const value = (object as Fields)[key];
          if (object === message && !isStoredField(key) && key !== "lc_kwargs") values.push(value);
          else visit(value);
        }
        keys.push(shared(names));
      } else return undefined;
    }
    return new ReferenceCopy(objects, keys, values);
  }

  holds(): boolean {
    const values = this.#values;
    let at = 0;
    for (let n = 0; n < this.#objects.length; n++) {
      const object = this.#objects[n] as Fields;
      if (Object.getPrototypeOf(object) !== this.#prototypes[n]) return false;
      const keys = this.#keys[n] as readonly string[] | null;
      if (keys === null) {
        const { length } = object as unknown as unknown[];
        if (length !== values[at++]) return false;
        for (let i = 0; i < length; i++)
          if (object[i] !== values[at++] && !isExactly(object[i], values[at - 1])) return false;
        continue;
      }
      let i = 0;
      for (const key in object) {
        if (key !== keys[i++]) return false;
        const value = object[key];
        const held = values[at++];
        if (value !== held && !isExactly(value, held)) return false;
      }
      if (i !== keys.length) return false;
    }
    return true;
  }
}

/** Lists of names by their text. There are few different ones. */
const lists = new Map<string, readonly string[]>();

function shared(names: readonly string[]): readonly string[] {
  const text = JSON.stringify(names);
  const list = lists.get(text);
  if (list) return list;
  if (lists.size < 1_000) lists.set(text, names);
  return names;
}

/** A number that `===` does not tell from another, or not from itself. */
class Exactly {
  readonly number: number;
  constructor(number: number) {
    this.number = number;
  }
}

function isExactly(value: unknown, held: unknown): boolean {
  return held instanceof Exactly && Object.is(value, held.number);
}
