import { OP } from "../encoding/ops.ts";
import { parseTokens, type Token } from "../encoding/references.ts";
import { DamagedRecordError } from "../errors.ts";

type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/**
 * Stored text in a form that people and programs in other languages can read, and back to exactly the same text.
 *
 * Plain JSON values stand for themselves. All else is an object with one key that begins with `$`: `{"$ref": hash}`, `{"$run": hash}` and `{"$text": hash}`
 * refer to elements, `{"$number": "NaN"}`, `{"$bigint": "1"}`, `{"$undefined": true}`, `{"$holes": "3"}` are values without a JSON form, and
 * `{"$map": […]}`, `{"$date": […]}`, `{"$message": […]}` and so on are containers with their items. `{"$tokens": text}` is stored text as it is,
 * where nothing better is exact.
 */
const LEAVES: ReadonlyMap<Token, string> = new Map([
  [OP.SPECIAL, "$number"],
  [OP.BIGINT, "$bigint"],
  [OP.HOLES, "$holes"],
  [OP.REF, "$ref"],
  [OP.RUN, "$run"],
  [OP.TEXT, "$text"],
]);
const CONTAINERS: ReadonlyMap<Token, string> = new Map(
  (
    [
      ["OBJECT", "$object"],
      ["ARRAY", "$array"],
      ["DATE", "$date"],
      ["URL", "$url"],
      ["REGEXP", "$regexp"],
      ["MAP", "$map"],
      ["SET", "$set"],
      ["BYTES", "$bytes"],
      ["ERROR", "$error"],
      ["NULL_OBJECT", "$nullObject"],
      ["MESSAGE", "$message"],
      ["BODY", "$body"],
      ["CLASS", "$class"],
      ["DELTA_SNAPSHOT", "$deltaSnapshot"],
      ["TEXT_LIST", "$textList"],
      ["KEYED_ARRAY", "$keyedArray"],
      ["PROTOTYPED", "$prototyped"],
    ] as const
  ).map(([op, name]): [Token, string] => [OP[op], name]),
);
const LEAF_OPS = new Map([...LEAVES].map(([op, name]) => [name, op]));
const CONTAINER_OPS = new Map([...CONTAINERS].map(([op, name]) => [name, op]));

/** The values of a stored text. */
export function toReadable(text: string): JsonValue[] {
  try {
    const values = read(parseTokens(text));
    if (toStored(values) === text) return values;
  } catch (error) {
    // nested deeper than the stack is high
    if (!(error instanceof RangeError)) throw error;
  }
  return [{ $tokens: text }];
}

/** @throws DamagedRecordError for a value that no stored text gives */
export function toStored(values: readonly unknown[]): string {
  const parts: string[] = [];
  for (const value of values) write(value, parts);
  return parts.join(",");
}

function read(tokens: readonly Token[]): JsonValue[] {
  const root: JsonValue[] = [];
  const stack: { readonly op: Token; readonly items: JsonValue[] }[] = [];
  let items = root;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as Token;
    const leaf = LEAVES.get(token);
    if (typeof token !== "number") items.push(token);
    else if (token === OP.NUM) items.push(tokens[++i] as number);
    else if (token === OP.UNDEFINED) items.push({ $undefined: true });
    else if (leaf !== undefined) items.push({ [leaf]: tokens[++i] as string });
    else if (token === OP.END) {
      const done = stack.pop();
      if (!done) throw new DamagedRecordError({ reason: "an end without a beginning" });
      items = stack.at(-1)?.items ?? root;
      items.push(close(done.op, done.items));
    } else {
      items = [];
      stack.push({ op: token, items });
    }
  }
  if (stack.length > 0) throw new DamagedRecordError({ reason: "an end is missing" });
  return root;
}

function close(op: Token, items: readonly JsonValue[]): JsonValue {
  if (op === OP.ARRAY) return items;
  const name = CONTAINERS.get(op);
  if (name === undefined) throw new DamagedRecordError({ reason: `operation ${op} is unknown` });
  if (op !== OP.OBJECT || !arePlainPairs(items)) return { [name]: items };
  const made: { [key: string]: JsonValue } = {};
  for (let i = 0; i < items.length; i += 2)
    Object.defineProperty(made, items[i] as string, {
      value: items[i + 1] as JsonValue,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return made;
}

function arePlainPairs(items: readonly JsonValue[]): boolean {
  if (items.length % 2 === 1) return false;
  for (let i = 0; i < items.length; i += 2) {
    const key = items[i];
    if (typeof key !== "string" || key.startsWith("$")) return false;
  }
  return true;
}

function write(value: unknown, parts: string[]): void {
  if (typeof value === "number") parts.push(`${OP.NUM},${value}`);
  else if (typeof value !== "object" || value === null) parts.push(JSON.stringify(value));
  else if (Array.isArray(value)) writeContainer(OP.ARRAY, value, parts);
  else {
    const keys = Object.keys(value);
    const [name] = keys;
    if (keys.length === 1 && name?.startsWith("$"))
      writeTagged(name, (value as Record<string, unknown>)[name], parts);
    else {
      const pairs = keys.flatMap((key) => [key, (value as Record<string, unknown>)[key]]);
      if (keys.some((key) => key.startsWith("$")))
        throw new DamagedRecordError({ reason: "a key begins with $" });
      writeContainer(OP.OBJECT, pairs, parts);
    }
  }
}

function writeTagged(name: string, value: unknown, parts: string[]): void {
  const leaf = LEAF_OPS.get(name);
  const container = CONTAINER_OPS.get(name);
  if (name === "$undefined") parts.push(String(OP.UNDEFINED));
  else if (name === "$tokens" && typeof value === "string") parts.push(value);
  else if (leaf !== undefined && typeof value === "string") parts.push(`${leaf},${JSON.stringify(value)}`);
  else if (container !== undefined && Array.isArray(value)) writeContainer(container, value, parts);
  else throw new DamagedRecordError({ reason: `${name} is unknown` });
}

function writeContainer(op: Token, items: readonly unknown[], parts: string[]): void {
  parts.push(String(op));
  for (const item of items) write(item, parts);
  parts.push(String(OP.END));
}
