import { type ClassTable, type Fields, isStoredField } from "./classes.ts";
import { Description, describe, Refusal } from "./describe.ts";
import { Holes, type Item, TextNode, ValueNode } from "./node.ts";
import { OP } from "./ops.ts";
import { ReferenceCopy } from "./reference-copy.ts";

/** What an encoder remembers of an object. */
export interface Known {
  readonly node: ValueNode;
  /** When it was last compared or built: at that moment it still is as its node. */
  seenAt: object | undefined;
  /** Of a message, made when it is met again. */
  copy: ReferenceCopy | undefined;
}

/** What a walk knows. */
export interface Seen {
  readonly classes: ClassTable;
  /** Stands for the time in which nothing else runs. */
  readonly moment: object;
  readonly known: { get(value: object): Known | undefined };
}

/** Deeper values are rebuilt instead: recursion must not overflow on a value that someone nested. */
const MAX_DEPTH = 200;

/**
 * Whether `value` still is what `node` was made of. Strings are shared with the node, so equal ones are mostly the same pointer.
 *
 * This runs over the whole of each changed channel at each step, so it allocates nothing for the frequent kinds. `for in` sees inherited fields
 * too; then it finds a difference, and the value is described anew. What it does not see are symbols, and named keys of a message's arrays,
 * that were added after they were first stored.
 */
export function unchanged(value: object, known: Known, seen: Seen): boolean {
  return known.node.op === OP.MESSAGE
    ? sameAsKnown(value, known, seen, 0)
    : sameObject(value, known.node, seen, 0);
}

/** For a message: first by its references, which is a fraction of the work. */
function sameAsKnown(message: object, known: Known, seen: Seen, depth: number): boolean {
  // the same messages stand in several arrays: in the channel, in each Send
  if (known.seenAt === seen.moment) return true;
  if (!known.copy?.holds()) {
    if (!sameMessage(message as Fields, known.node, seen, depth)) return false;
    known.copy = ReferenceCopy.of(message);
  }
  known.seenAt = seen.moment;
  return true;
}

function same(value: unknown, item: Item, seen: Seen, depth: number): boolean {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "string") return sameText(value, item);
    return Object.is(value, item);
  }
  if (value instanceof Holes) return item instanceof Holes && item.count === value.count;
  return item instanceof ValueNode && sameObject(value, item, seen, depth + 1);
}

function sameText(value: string, item: Item): boolean {
  if (typeof item === "string") return value === item;
  if (item instanceof TextNode) return value === item.text;
  if (!(item instanceof ValueNode) || item.op !== OP.TEXT_LIST) return false;
  let at = 0;
  for (const segment of item.items) {
    if (!(segment instanceof TextNode) || !value.startsWith(segment.text, at)) return false;
    at += segment.text.length;
  }
  return at === value.length;
}

function sameObject(value: object, node: ValueNode, seen: Seen, depth: number): boolean {
  if (depth > MAX_DEPTH) return false;
  if (node.op === OP.OBJECT && Object.getPrototypeOf(value) === Object.prototype) {
    return samePairs(value as Fields, node.items, seen, depth);
  }
  // holes and named keys are in the keys only
  if (node.op === OP.ARRAY && Array.isArray(value))
    return sameItems(value, node.items, seen, depth) && Object.keys(value).length === value.length;
  if (node.op === OP.MESSAGE) {
    const known = seen.known.get(value);
    if (known?.node === node) return sameAsKnown(value, known, seen, depth);
    return known?.seenAt !== seen.moment && sameMessage(value as Fields, node, seen, depth);
  }
  return sameDescription(value, node, seen, depth);
}

function sameDescription(value: object, node: ValueNode, seen: Seen, depth: number): boolean {
  const description = describe(value, seen.classes);
  if (description instanceof Refusal || description.op !== node.op) return false;
  return sameItems(description.items, node.items, seen, depth);
}

function sameItems(values: readonly unknown[], items: readonly Item[], seen: Seen, depth: number): boolean {
  if (values.length !== items.length) return false;
  for (let i = 0; i < items.length; i++) {
    const value = values[i];
    const item = items[i] as Item;
    if (value instanceof Description) {
      if (!(item instanceof ValueNode) || value.op !== item.op) return false;
      if (!sameItems(value.items, item.items, seen, depth + 1)) return false;
    } else if (!same(value, item, seen, depth)) return false;
  }
  return true;
}

function samePairs(value: Fields, items: readonly Item[], seen: Seen, depth: number): boolean {
  let i = 0;
  for (const key in value) {
    if (i >= items.length || !sameText(key, items[i++]) || !same(value[key], items[i++], seen, depth))
      return false;
  }
  return i === items.length;
}

function sameMessage(message: Fields, node: ValueNode, seen: Seen, depth: number): boolean {
  const [name, id, idAt, body] = node.items;
  if (!(body instanceof ValueNode) || !Object.is(message.id, id)) return false;
  const kwargs = message.lc_kwargs as Fields | undefined;
  if (!kwargs || !(idAt === null || typeof idAt === "number"))
    return sameDescription(message, node, seen, depth);
  if (seen.classes.messageClass(message) !== name) return false;
  const { items } = body;
  let i = 0;
  for (const key in message) {
    const field = message[key];
    if (key === items[i]) {
      if (field === undefined || !same(field, items[i + 1], seen, depth)) return false;
      i += 2;
    } else if (field !== undefined && isStoredField(key)) return false;
  }
  return i === items.length - 2 && sameKwargs(kwargs, message, items, idAt, seen, depth);
}

/** Whether the constructor's arguments still have their names, in this order, and their values: the fields' or, if stored, their own. */
function sameKwargs(
  kwargs: Fields,
  message: Fields,
  body: readonly Item[],
  idAt: number | null,
  seen: Seen,
  depth: number,
): boolean {
  const stored = body.at(-1);
  const [list, own] = stored instanceof ValueNode ? stored.items : [];
  const names = list instanceof ValueNode ? list.items : seen.classes.splitNames(String(stored));
  const different = own instanceof ValueNode ? own.items : [];
  let i = 0;
  let idFound: number | null = null;
  for (const key in kwargs) {
    const value = kwargs[key];
    if (key === "id") {
      if (!Object.is(value, message.id)) return false;
      idFound = i;
      continue;
    }
    if (names[i++] !== key) return false;
    const at = different.length === 0 ? -1 : keyIndex(different, key);
    if (at >= 0) {
      if (!same(value, different[at + 1], seen, depth)) return false;
    } else if (!Object.is(value, message[key])) {
      // not the field's value itself, but it may equal it
      const field = keyIndex(body, key);
      if (field < 0 || !same(value, body[field + 1], seen, depth)) return false;
    }
  }
  return i === names.length && idFound === idAt;
}

function keyIndex(pairs: readonly Item[], key: string): number {
  for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === key) return i;
  return -1;
}
