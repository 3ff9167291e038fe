import { isDeepStrictEqual, types } from "node:util";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import {
  bytesKind,
  bytesToBase64,
  type ClassTable,
  ERROR_CLASSES,
  type Fields,
  isStoredField,
} from "./classes.ts";
import { Holes } from "./node.ts";
import { OP, type Op } from "./ops.ts";

/** One object in terms of the stored format: its operation and the values that are its items. */
export class Description {
  readonly op: Op;
  readonly items: readonly unknown[];
  constructor(op: Op, items: readonly unknown[]) {
    this.op = op;
    this.items = items;
  }
}

/** Why an object has no stored form. */
export class Refusal {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/** The only place that knows how a live object is taken apart; `materialise.ts` is its mirror. */
export function describe(value: object, classes: ClassTable): Description | Refusal {
  if (value instanceof Description) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) {
    // the prototype of arrays, of any realm, is an array itself
    if (!Array.isArray(prototype))
      return new Refusal(`it is an array of the class ${value.constructor?.name}`);
    return hasSymbols(value) ? SYMBOL_KEY : describeArray(value);
  }
  if (prototype === Object.prototype || prototype === null || isForeignPlain(prototype as object)) {
    return plain(prototype === null ? OP.NULL_OBJECT : OP.OBJECT, value as Fields);
  }
  // LangGraph copies what a Send carries by assignment, which makes a prototype of a `__proto__` key that a model wrote
  if (isPlainPrototype(prototype as object)) return prototyped(prototype as object, value as Fields);
  const ofGraph = describeLangChain(value, classes) ?? describeGraphObject(value as Fields);
  if (ofGraph) return ofGraph;
  if (hasSymbols(value)) return SYMBOL_KEY;
  return describeBuiltIn(value) ?? describeUserClass(value, classes);
}

const SYMBOL_KEY = new Refusal("it has a key that is a symbol");

function hasSymbols(value: object): boolean {
  return Object.getOwnPropertySymbols(value).length > 0;
}

function plain(op: Op, value: Fields): Description | Refusal {
  if (hasSymbols(value)) return SYMBOL_KEY;
  return new Description(op, pairs(value, Object.keys(value)));
}

function prototyped(prototype: object, value: Fields): Description | Refusal {
  const own = plain(OP.OBJECT, value);
  return own instanceof Refusal ? own : new Description(OP.PROTOTYPED, [prototype, ...own.items]);
}

function pairs(value: Fields, keys: readonly string[], head: readonly unknown[] = []): unknown[] {
  const items = [...head];
  for (const key of keys) items.push(key, value[key]);
  return items;
}

function describeArray(value: readonly unknown[]): Description {
  const keys = Object.keys(value);
  if (
    keys.length === value.length &&
    (value.length === 0 || keys[value.length - 1] === `${value.length - 1}`)
  ) {
    return new Description(OP.ARRAY, value);
  }
  const indexes = keys.filter((key) => String(Number(key) >>> 0) === key && Number(key) < 2 ** 32 - 1);
  const items: unknown[] = [];
  let next = 0;
  for (const index of indexes.map(Number)) {
    if (index > next) items.push(new Holes(index - next));
    items.push(value[index]);
    next = index + 1;
  }
  if (value.length > next) items.push(new Holes(value.length - next));
  const array = new Description(OP.ARRAY, items);
  if (indexes.length === keys.length) return array;
  const named = Object.fromEntries(
    keys.slice(indexes.length).map((key) => [key, (value as unknown as Fields)[key]]),
  );
  return new Description(OP.KEYED_ARRAY, [array, named]);
}

function describeBuiltIn(value: object): Description | Refusal | undefined {
  const name = value.constructor?.name;
  if (types.isNativeError(value)) return describeError(value);
  const builtIn = describeBytes(value) ?? describeOwnFieldless(value, name);
  return builtIn && hasFields(value) ? new Refusal(`the ${name} has fields of its own`) : builtIn;
}

/** Besides the items of a typed array, whose keys are too many to list. */
function hasFields(value: object): boolean {
  if (!types.isTypedArray(value)) return Object.keys(value).length > 0;
  const View = value.constructor as Uint8ArrayConstructor;
  const { buffer, byteOffset, length } = value;
  const bare = Buffer.isBuffer(value)
    ? Buffer.from(buffer, byteOffset, length)
    : new View(buffer, byteOffset, length);
  return !isDeepStrictEqual(value, bare);
}

function describeBytes(value: object): Description | undefined {
  const kind = bytesKind(value);
  return kind === undefined ? undefined : new Description(OP.BYTES, [kind, bytesToBase64(value)]);
}

function describeOwnFieldless(value: object, name: string | undefined): Description | undefined {
  if (types.isDate(value) && name === "Date") {
    const time = value.getTime();
    return new Description(OP.DATE, [Number.isNaN(time) ? null : time]);
  }
  if (types.isMap(value) && name === "Map") return new Description(OP.MAP, [...value].flat(1));
  if (types.isSet(value) && name === "Set") return new Description(OP.SET, [...value]);
  if (types.isRegExp(value) && name === "RegExp") {
    return new Description(OP.REGEXP, [value.source, value.flags, value.lastIndex]);
  }
  if (value instanceof URL && name === "URL") return new Description(OP.URL, [value.href]);
  return undefined;
}

function describeError(error: Error): Description | Refusal {
  const name = error.constructor?.name ?? "";
  const known = ERROR_CLASSES[name];
  if (!known || !Object.hasOwn(ERROR_CLASSES, name)) return new Refusal(`the error class ${name} is unknown`);
  const fields = error as unknown as Fields;
  const keys = Object.keys(fields);
  const isHidden = (key: string) => Object.hasOwn(fields, key) && !keys.includes(key);
  // message and stack are own but hidden, and so is the cause given to the constructor; what was assigned is an ordinary field
  const hasCause = isHidden("cause");
  const head = [name, error.message, error.stack, hasCause, hasCause ? error.cause : undefined];
  return new Description(OP.ERROR, pairs(fields, isHidden("name") ? ["name", ...keys] : keys, head));
}

/** What LangGraph itself puts in channels and writes. It reads these back from their plain form, as from its own savers. */
function describeGraphObject(value: Fields): Description | undefined {
  if (value instanceof DeltaSnapshot) return new Description(OP.DELTA_SNAPSHOT, [value.value]);
  switch (value.lg_name) {
    case "DeltaSnapshot":
      return new Description(OP.DELTA_SNAPSHOT, [value.value]);
    case "Send": {
      const items = ["node", value.node, "args", value.args];
      if (value.timeout !== undefined) items.push("timeout", value.timeout);
      return new Description(OP.OBJECT, items);
    }
    case "Command": {
      const keys = ["lg_name", "graph", "update", "resume", "goto"].filter((key) => value[key] !== undefined);
      return new Description(OP.OBJECT, pairs(value, keys));
    }
    case "Overwrite":
      return new Description(OP.OBJECT, ["__overwrite__", value.__overwrite__]);
    default:
      return undefined;
  }
}

function describeLangChain(value: object, classes: ClassTable): Description | Refusal | undefined {
  const name = classes.messageClass(value);
  if (name === undefined) return undefined;
  // besides the brand that every message has
  const { length } = Object.getOwnPropertySymbols(value);
  if (length > (classes.template(name)?.symbols.length ?? 0)) return SYMBOL_KEY;
  const message = value as Fields;
  const kwargs = (message.lc_kwargs ?? {}) as Fields;
  const body: unknown[] = [];
  for (const key of Object.keys(message)) {
    // an undefined field is what a fresh instance has
    if (isStoredField(key) && message[key] !== undefined) body.push(key, message[key]);
  }
  body.push("", describeKwargs(message, kwargs));
  // kept outside the body, which is the same before and after a message gets its id
  const at = Object.keys(kwargs).indexOf("id");
  const id = at < 0 ? null : Object.is(kwargs.id, message.id) ? at : [at, kwargs.id];
  return new Description(OP.MESSAGE, [name, message.id, id, new Description(OP.BODY, body)]);
}

/**
 * A message keeps its constructor's arguments beside its fields, and serialises by their names. Their values are nearly always the
 * fields' own, so the names are enough: a string. Otherwise an array of the names and an object of what differs.
 */
function describeKwargs(message: Fields, kwargs: Fields): unknown {
  const names: string[] = [];
  let different: Fields | undefined;
  for (const key of Object.keys(kwargs)) {
    if (key === "id") continue;
    names.push(key);
    // chat models give a message new metadata that is equal to what it was made with
    if (Object.hasOwn(message, key) && isDeepStrictEqual(kwargs[key], message[key])) continue;
    different ??= {};
    Object.defineProperty(different, key, { value: kwargs[key], enumerable: true });
  }
  const list = names.join(",");
  if (names.some((name) => name.includes(",") || name === "")) return [names, different ?? {}];
  return different ? [names, different] : list;
}

function describeUserClass(value: object, classes: ClassTable): Description | Refusal {
  const name = classes.classNameOf(value);
  if (name === undefined) {
    const className = value.constructor?.name;
    return new Refusal(
      className ? `instances of ${className} have no stored form` : "its prototype is unknown",
    );
  }
  const fields = value as Fields;
  return new Description(OP.CLASS, pairs(fields, Object.keys(fields), [name]));
}

/** Data that serves as a prototype; that of a class names its constructor. */
function isPlainPrototype(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === Object.prototype && !Object.hasOwn(prototype, "constructor");
}

/** A plain object of another realm: its prototype is that realm's Object.prototype. */
function isForeignPlain(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf");
}
