import { type ClassTable, type Fields, isStoredField } from "./classes.ts";
import { Description, describe, Refusal } from "./describe.ts";
import { Holes, type Item, TextNode, ValueNode } from "./node.ts";
import { OP } from "./ops.ts";

/** Deeper values are rebuilt instead: recursion must not overflow on a value that someone nested. */
const MAX_DEPTH = 200;

/** Whether `value` still is what `node` was made of. Strings are shared with the node, so equal ones are mostly the same pointer. */
export function unchanged(value: object, node: ValueNode, classes: ClassTable): boolean {
  return sameObject(value, node, classes, 0);
}

function same(value: unknown, item: Item, classes: ClassTable, depth: number): boolean {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "string") return sameText(value, item);
    return Object.is(value, item);
  }
  if (value instanceof Holes) return item instanceof Holes && item.count === value.count;
  return item instanceof ValueNode && sameObject(value, item, classes, depth + 1);
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

function sameObject(value: object, node: ValueNode, classes: ClassTable, depth: number): boolean {
  if (depth > MAX_DEPTH) return false;
  // the frequent kinds are compared in place, all others by their description
  if (node.op === OP.OBJECT && Object.getPrototypeOf(value) === Object.prototype) {
    return samePairs(value as Fields, node.items, classes, depth);
  }
  if (node.op === OP.MESSAGE) return sameMessage(value as Fields, node, classes, depth);
  const description = describe(value, classes);
  if (description instanceof Refusal || description.op !== node.op) return false;
  return sameItems(description.items, node.items, classes, depth);
}

function sameItems(
  values: readonly unknown[],
  items: readonly Item[],
  classes: ClassTable,
  depth: number,
): boolean {
  if (values.length !== items.length) return false;
  for (let i = 0; i < items.length; i++) {
    const value = values[i];
    const item = items[i] as Item;
    if (value instanceof Description) {
      if (!(item instanceof ValueNode) || value.op !== item.op) return false;
      if (!sameItems(value.items, item.items, classes, depth + 1)) return false;
    } else if (!same(value, item, classes, depth)) return false;
  }
  return true;
}

function samePairs(value: Fields, items: readonly Item[], classes: ClassTable, depth: number): boolean {
  let i = 0;
  for (const key of Object.keys(value)) {
    if (i >= items.length || !sameText(key, items[i++]) || !same(value[key], items[i++], classes, depth))
      return false;
  }
  return i === items.length && Object.getOwnPropertySymbols(value).length === 0;
}

function sameMessage(message: Fields, node: ValueNode, classes: ClassTable, depth: number): boolean {
  const [name, id, idAt, body] = node.items;
  if (!(body instanceof ValueNode) || !Object.is(message.id, id)) return false;
  const kwargs = message.lc_kwargs as Fields | undefined;
  const names = body.items.at(-1);
  // the usual case: all of the constructor's arguments were equal to the fields
  if (typeof names !== "string" || !kwargs || !(idAt === null || typeof idAt === "number")) {
    const description = describe(message, classes);
    if (description instanceof Refusal || description.op !== OP.MESSAGE) return false;
    return sameItems(description.items, node.items, classes, depth);
  }
  if (classes.messageClass(message) !== name) return false;
  let i = 0;
  for (const key of Object.keys(message)) {
    const field = message[key];
    if (!isStoredField(key) || field === undefined) continue;
    if (body.items[i++] !== key || !same(field, body.items[i++], classes, depth)) return false;
  }
  return i === body.items.length - 2 && sameKwargs(kwargs, message, names, idAt);
}

/** Whether the arguments still have these names, in this order, and the fields' values. */
function sameKwargs(kwargs: Fields, message: Fields, names: string, idAt: number | null): boolean {
  let at = 0;
  let index = 0;
  let idFound: number | null = null;
  for (const key of Object.keys(kwargs)) {
    const position = index++;
    if (!Object.is(kwargs[key], message[key])) return false;
    if (key === "id") {
      idFound = position;
      continue;
    }
    if (at > 0) at++;
    if (!names.startsWith(key, at)) return false;
    at += key.length;
    if (at < names.length && names[at] !== ",") return false;
  }
  return at === names.length && idFound === idAt;
}
