import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { DamagedRecordError } from "../errors.ts";
import { bytesFromBase64, type ClassTable, ERROR_CLASSES, type Fields } from "./classes.ts";
import { type Encoder, isWorthRemembering, type Remembered } from "./encoder.ts";
import { Holes, type Item, TextNode, ValueNode } from "./node.ts";
import { OP } from "./ops.ts";

/** Marks the pairs of a message's body on their way to the message. */
class Body {
  readonly items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}

/**
 * Makes the live value of a node: new objects at each call, so that nobody's mutation reaches another reader. Only allow-listed
 * classes revive, none through a constructor. The encoder remembers what it made, so storing it again is cheap.
 */
export function materialise(item: Item, classes: ClassTable, encoder?: Encoder): unknown {
  if (!(item instanceof ValueNode)) return leaf(item);
  const made: Remembered = { values: [], nodes: [] };
  const value = build(item, { classes, made }, 0);
  if (encoder && typeof value === "object" && value !== null) encoder.remember(value, made);
  return value;
}

interface Maker {
  readonly classes: ClassTable;
  /** What the encoder is told of. */
  readonly made: Remembered;
}

/** Deeper values are made without recursion, which costs more. */
const MAX_DEPTH = 200;

function build(node: ValueNode, maker: Maker, depth: number): unknown {
  if (depth > MAX_DEPTH) return buildDeep(node, maker);
  const { items } = node;
  const values = new Array<unknown>(items.length);
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    values[i] = item instanceof ValueNode ? build(item, maker, depth + 1) : leaf(item);
  }
  return finished(node, values, maker);
}

function buildDeep(root: ValueNode, maker: Maker): unknown {
  const stack: { readonly node: ValueNode; readonly values: unknown[] }[] = [{ node: root, values: [] }];
  for (;;) {
    const { node, values } = stack.at(-1) as { readonly node: ValueNode; readonly values: unknown[] };
    const next = node.items[values.length];
    if (next instanceof ValueNode) stack.push({ node: next, values: [] });
    else if (values.length < node.items.length) values.push(leaf(next));
    else {
      const value = finished(node, values, maker);
      stack.pop();
      const parent = stack.at(-1);
      if (!parent) return value;
      parent.values.push(value);
    }
  }
}

function leaf(item: Exclude<Item, ValueNode>): unknown {
  return item instanceof TextNode ? item.text : item;
}

function finished(node: ValueNode, values: unknown[], { classes, made }: Maker): unknown {
  const value = construct(node, values, classes);
  if (isWorthRemembering(node) && typeof value === "object" && value !== null && !(value instanceof Body)) {
    made.values.push(value);
    made.nodes.push(node);
  }
  return value;
}

function construct(node: ValueNode, values: unknown[], classes: ClassTable): unknown {
  const [first, second, third] = values;
  switch (node.op) {
    case OP.OBJECT:
      return assign({}, values);
    case OP.NULL_OBJECT:
      return assign(Object.create(null) as Fields, values);
    case OP.PROTOTYPED:
      return assign(Object.create(first as object) as Fields, values, 1);
    case OP.ARRAY:
      return node.items.some((item) => item instanceof Holes) ? sparse(values) : values;
    case OP.KEYED_ARRAY:
      return Object.assign(first as unknown[], second);
    case OP.MAP:
      return new Map(pairsOf(values));
    case OP.SET:
      return new Set(values);
    case OP.DATE:
      return new Date(first === null ? Number.NaN : (first as number));
    case OP.URL:
      return new URL(first as string);
    case OP.REGEXP:
      return Object.assign(new RegExp(first as string, second as string), { lastIndex: third });
    case OP.BYTES:
      return (
        bytesFromBase64(String(first), String(second)) ??
        fail(`binary data of kind ${String(first)} is unknown`)
      );
    case OP.ERROR:
      return error(values);
    case OP.BODY:
      return new Body(values);
    case OP.MESSAGE:
      return message(values, classes);
    case OP.CLASS: {
      const cls = classes.classOf(String(first));
      if (!cls) return fail(`class ${String(first)} is not on the allow-list (see \`reviveClasses\`)`);
      return assign(Object.create(cls.prototype as object) as Fields, values, 1);
    }
    case OP.DELTA_SNAPSHOT:
      return new DeltaSnapshot(first);
    case OP.TEXT_LIST:
      return values.join("");
    default:
      return fail(`operation ${node.op} makes no value`);
  }
}

function assign(target: Fields, values: readonly unknown[], from = 0): Fields {
  for (let i = from; i < values.length; i += 2) setField(target, String(values[i]), values[i + 1]);
  return target;
}

/** Assignment to `__proto__` would change the prototype instead of storing the key. */
function setField(target: Fields, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

function pairsOf(values: readonly unknown[]): [unknown, unknown][] {
  const pairs: [unknown, unknown][] = [];
  for (let i = 0; i < values.length; i += 2) pairs.push([values[i], values[i + 1]]);
  return pairs;
}

function sparse(values: readonly unknown[]): unknown[] {
  const array: unknown[] = [];
  for (const value of values) {
    if (value instanceof Holes) array.length += value.count;
    else array.push(value);
  }
  return array;
}

function error(values: readonly unknown[]): Error {
  const [name, text, stack, hasCause, cause] = values;
  const known = Object.hasOwn(ERROR_CLASSES, String(name)) ? ERROR_CLASSES[String(name)] : undefined;
  if (!known) return fail(`error class ${String(name)} is unknown`);
  const made = new known(String(text), hasCause ? { cause } : undefined);
  Object.defineProperty(made, "stack", {
    value: stack,
    writable: true,
    configurable: true,
    enumerable: false,
  });
  return assign(made as unknown as Fields, values, 5) as unknown as Error;
}

function message(values: readonly unknown[], classes: ClassTable): object {
  const [name, id, idInKwargs, body] = values;
  const template = classes.template(String(name));
  if (!template || !(body instanceof Body)) return fail(`message class ${String(name)} is unknown`);
  const pairs = body.items;
  const kwargsAt = pairs.length - 2;
  if (pairs[kwargsAt] !== "") return fail("a message without the names of its arguments");
  const made = Object.create(template.prototype) as Fields & Record<symbol, unknown>;
  const kwargs: Fields = {};
  // the order of a fresh instance's fields, then what this one has besides
  let found = 0;
  for (const { key, isConstant, value } of template.fields) {
    if (key === "lc_kwargs") made.lc_kwargs = kwargs;
    else if (key === "id") made.id = id;
    else if (isConstant) made[key] = copyConstant(value);
    else {
      const at = pairIndex(pairs, key, found);
      made[key] = at < 0 ? undefined : pairs[at + 1];
      if (at >= 0) found += 2;
    }
  }
  for (const [symbol, value] of template.symbols) made[symbol] = value;
  if (found < kwargsAt) {
    for (let i = 0; i < kwargsAt; i += 2) {
      const key = String(pairs[i]);
      if (!Object.hasOwn(made, key)) setField(made, key, pairs[i + 1]);
    }
  }
  fillKwargs(kwargs, made, pairs[kwargsAt + 1], idInKwargs, classes);
  return made;
}

/** Where `key` stands among the pairs; mostly at `hint`, since a message's fields are stored in their order. */
function pairIndex(pairs: readonly unknown[], key: string, hint: number): number {
  if (pairs[hint] === key) return hint;
  for (let i = 0; i < pairs.length - 2; i += 2) if (pairs[i] === key) return i;
  return -1;
}

function fillKwargs(
  kwargs: Fields,
  made: Fields,
  stored: unknown,
  idInKwargs: unknown,
  classes: ClassTable,
): void {
  const [names, different] =
    typeof stored === "string"
      ? [classes.splitNames(stored), undefined]
      : (stored as [readonly string[], Fields]);
  const [idAt, id] = Array.isArray(idInKwargs) ? idInKwargs : [idInKwargs, made.id];
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (i === idAt) kwargs.id = id;
    setField(kwargs, name, different && Object.hasOwn(different, name) ? different[name] : made[name]);
  }
  if (typeof idAt === "number" && idAt >= names.length) kwargs.id = id;
}

function copyConstant(value: unknown): unknown {
  return Array.isArray(value) ? [...value] : value;
}

function fail(reason: string): never {
  throw new DamagedRecordError({ reason });
}
