import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { bytesFromBase64, type ClassTable, ERROR_CLASSES, type Fields } from "./classes.ts";
import { type Encoder, isRemembered } from "./encoder.ts";
import { Holes } from "./node.ts";
import { OP, type Op } from "./ops.ts";
import type { Token } from "./references.ts";
import {
  bigint,
  childAt,
  containerOp,
  malformed,
  numberAt,
  type StoredText,
  specialNumber,
  stringAt,
  textOf,
} from "./stored-text.ts";

/** Marks the pairs of a message's body on their way to the message. */
class Body {
  readonly items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    this.items = items;
  }
}

/**
 * Makes the live value of a stored text: new objects at each call, so that nobody's mutation reaches another reader. Only
 * allow-listed classes revive, none through a constructor. The encoder is told what was made, so storing it again is cheap.
 *
 * @throws DamagedRecordError when the text is not well-formed or is not one value.
 */
export function materialise(text: StoredText, classes: ClassTable, encoder?: Encoder): unknown {
  const made: object[] = [];
  const [value, ...others] = valuesOf(text, classes, made);
  if (others.length > 0 || text.tokens.length === 0) throw malformed("it is not one value");
  if (encoder && typeof value === "object" && value !== null) encoder.remember(value, { text, values: made });
  return value;
}

/** A text that waits for the end of one that it refers to. */
interface Waiting {
  readonly text: StoredText;
  readonly at: number;
  readonly child: number;
  readonly isRun: boolean;
  /** Values and open containers at that moment. */
  readonly top: number;
  readonly depth: number;
}

/**
 * The live values of a stored text, one after another. One flat loop without recursion, because most reading is done once in a
 * process, by code that is not compiled yet.
 *
 * @param made Gets the objects that an encoder remembers, in the order of their ends.
 */
export function valuesOf(root: StoredText, classes: ClassTable, made: object[] = []): unknown[] {
  // values of all open containers, one after another; what stands above `top` is of no meaning
  const values: unknown[] = [];
  let top = 0;
  const open: { readonly op: Op; readonly start: number }[] = [];
  const waiting: Waiting[] = [];
  // content addresses cannot form a cycle unless someone forged a row
  const entered = new Set<StoredText>();
  let text = root;
  let { tokens } = text;
  let at = 0;
  let child = 0;
  let depth = 0;
  let hasHoles = false;
  for (;;) {
    if (at === tokens.length) {
      if (open.length !== depth) throw malformed("an end is missing");
      const outer = waiting.pop();
      if (!outer) break;
      if (!outer.isRun && top !== outer.top + 1)
        throw malformed("a reference to something that is no single value");
      entered.delete(text);
      ({ text, at, child } = outer);
      ({ tokens } = text);
      depth = waiting.at(-1)?.depth ?? 0;
      continue;
    }
    const token = tokens[at++] as Token;
    if (typeof token !== "number") {
      values[top++] = token;
      continue;
    }
    switch (token) {
      case OP.NUM:
        values[top++] = numberAt(tokens, at++);
        break;
      case OP.UNDEFINED:
        values[top++] = undefined;
        break;
      case OP.SPECIAL:
        values[top++] = specialNumber(stringAt(tokens, at++));
        break;
      case OP.BIGINT:
        values[top++] = bigint(stringAt(tokens, at++));
        break;
      case OP.HOLES:
        values[top++] = new Holes(Number(stringAt(tokens, at++)));
        hasHoles = true;
        break;
      case OP.TEXT:
        stringAt(tokens, at++);
        values[top++] = textOf(childAt(text, child++));
        break;
      case OP.REF:
      case OP.RUN: {
        stringAt(tokens, at++);
        const inner = childAt(text, child++);
        if (entered.has(inner)) throw malformed(`chunk ${inner.hash} contains itself`);
        entered.add(inner);
        waiting.push({ text, at, child, isRun: token === OP.RUN, top, depth: open.length });
        depth = open.length;
        text = inner;
        ({ tokens } = text);
        at = 0;
        child = 0;
        break;
      }
      case OP.END: {
        const done = open.length > depth ? open.pop() : undefined;
        if (!done) throw malformed("an end without a beginning");
        const { op, start } = done;
        const value = construct(op, values, start, top, classes, hasHoles);
        if (isRemembered(op, top - start)) made.push(value as object);
        top = start;
        values[top++] = value;
        break;
      }
      default:
        open.push({ op: containerOp(token), start: top });
    }
  }
  values.length = top;
  return values;
}

/** The value of a container whose items are `values` from `start` to `end`. */
function construct(
  op: Op,
  values: readonly unknown[],
  start: number,
  end: number,
  classes: ClassTable,
  hasHoles: boolean,
): unknown {
  switch (op) {
    case OP.OBJECT:
      return assign({}, values, start, end);
    case OP.BODY:
      return new Body(values.slice(start, end));
    case OP.ARRAY: {
      const items = values.slice(start, end);
      return hasHoles && items.some((item) => item instanceof Holes) ? sparse(items) : items;
    }
    default:
      return constructRare(op, values.slice(start, end), classes);
  }
}

function constructRare(op: Op, values: unknown[], classes: ClassTable): unknown {
  const [first, second, third] = values;
  switch (op) {
    case OP.MESSAGE:
      return message(values, classes);
    case OP.NULL_OBJECT:
      return assign(Object.create(null) as Fields, values);
    case OP.PROTOTYPED:
      return assign(Object.create(first as object) as Fields, values, 1);
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
    case OP.BYTES: {
      const bytes = bytesFromBase64(String(first), String(second));
      if (!bytes) throw malformed(`binary data of kind ${String(first)} is unknown`);
      return bytes;
    }
    case OP.ERROR:
      return error(values);
    case OP.CLASS: {
      const cls = classes.classOf(String(first));
      if (!cls) throw malformed(`class ${String(first)} is not on the allow-list (see \`reviveClasses\`)`);
      return assign(Object.create(cls.prototype as object) as Fields, values, 1);
    }
    case OP.DELTA_SNAPSHOT:
      return new DeltaSnapshot(first);
    case OP.TEXT_LIST:
      return values.join("");
    default:
      throw malformed(`operation ${op} makes no value`);
  }
}

function assign(target: Fields, values: readonly unknown[], from = 0, end = values.length): Fields {
  for (let i = from; i < end; i += 2) setField(target, String(values[i]), values[i + 1]);
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
  if (!known) throw malformed(`error class ${String(name)} is unknown`);
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
  if (!template || !(body instanceof Body)) throw malformed(`message class ${String(name)} is unknown`);
  const pairs = body.items;
  const kwargsAt = pairs.length - 2;
  if (pairs[kwargsAt] !== "") throw malformed("a message without the names of its arguments");
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
