import { UnstorableValueError } from "../errors.ts";
import { type Chunk, chunkOf } from "./chunk.ts";
import type { ClassTable } from "./classes.ts";
import { Description, describe, Refusal } from "./describe.ts";
import { Holes, type Item, TextNode, ValueNode } from "./node.ts";
import { nodesOf } from "./nodes-of.ts";
import { OP, type Op, PAIRS_AFTER } from "./ops.ts";
import { Packer } from "./packer.ts";
import { SEGMENTS_ABOVE, segmentsOf } from "./segments.ts";
import type { StoredText } from "./stored-text.ts";
import { type Known, type Seen, unchanged } from "./unchanged.ts";

/** Characters of long strings whose chunks are remembered. The strings are the state's own, so this costs little. */
const TEXTS_MAX = 16_000_000;
/** Nodes with fewer items are rebuilt rather than remembered: cheaper than a weak reference. */
const REMEMBER_FROM = 8;

/** Roots that are remembered until something is stored. */
const ROOTS = 64;

/** What a value was made of, and the objects in it that are worth remembering, in the order of their ends. */
export interface Read {
  readonly text: StoredText;
  readonly values: readonly object[];
}

const CYCLE = new Refusal("it contains itself");

interface Frame {
  readonly source: object;
  readonly description: Description;
  readonly items: Item[];
}

/** What several calls of `encode` have in common, as long as nothing else runs in between: never keep it over an await. */
export class Moment {
  /** Lists by their first item: LangGraph copies the list of messages for each Send. */
  readonly lists = new Map<unknown, { readonly values: readonly unknown[]; readonly node: ValueNode }>();
}

/** One call of `encode`. */
interface Walk extends Seen {
  readonly moment: Moment;
  readonly path: string;
  readonly stack: Frame[];
  /** The sources on the stack, for cycles. */
  readonly open: Set<object>;
}

/**
 * Makes nodes of values. What it has seen before is recognised by comparing it with its node, so an unchanged message costs a walk
 * over its fields, whatever the length of its strings; a nested mutation is noticed.
 *
 * Synchronous on purpose: the node is a snapshot, later mutations of the value do not reach it.
 */
export class Encoder {
  readonly classes: ClassTable;
  readonly packer: Packer;
  readonly #known = new WeakMap<object, Known>();
  /** What was read, by its root, until something is stored: most that is read is only looked at, and each entry above costs the collector. */
  readonly #unsorted = new WeakMap<object, Read>();
  #roots: WeakRef<object>[] = [];
  #texts = new Map<string, Chunk>();
  #textChars = 0;

  constructor(classes: ClassTable, packer: Packer = new Packer()) {
    this.classes = classes;
    this.packer = packer;
  }

  /**
   * @param path How an error names the root: `state.messages`.
   * @param moment Shared by values that are encoded at once, so that what stands in several of them is compared once.
   * @throws UnstorableValueError with the path of the first value that has no stored form.
   */
  encode(value: unknown, path: string, moment = new Moment()): Item {
    if (this.#roots.length > 0) this.#sort();
    const walk: Walk = {
      path,
      stack: [],
      open: new Set(),
      moment,
      known: this.#known,
      classes: this.classes,
    };
    const { stack } = walk;
    let result: Item = this.#enter(value, walk);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const { items } = top;
      const values = top.description.items;
      const depth = stack.length;
      for (let i = items.length; i < values.length; i++) {
        const item = this.#enter(values[i], walk);
        if (stack.length > depth) break;
        items.push(item);
      }
      if (stack.length > depth) continue;
      stack.pop();
      result = this.#leave(top, walk);
      stack.at(-1)?.items.push(result);
    }
    return result;
  }

  /** Remembers what a value that was just read, and what is in it, looks like, so that storing it again is cheap. */
  remember(root: object, read: Read): void {
    this.#unsorted.set(root, read);
    this.#roots.push(new WeakRef(root));
    // without the oldest, storing that one again costs more, no more than that
    if (this.#roots.length > ROOTS) this.#roots.shift();
  }

  #sort(): void {
    for (const reference of this.#roots) {
      const root = reference.deref();
      const read = root && this.#unsorted.get(root);
      if (!read) continue;
      let next = 0;
      for (const node of inOrderOfEnds(nodesOf(read.text, this.packer)))
        if (isRemembered(node.op, node.items.length))
          this.#known.set(read.values[next++] as object, { node, seenAt: undefined, copy: undefined });
    }
    this.#roots = [];
  }

  #remember(value: object, node: ValueNode, seenAt: object | undefined): void {
    if (isRemembered(node.op, node.items.length)) this.#known.set(value, { node, seenAt, copy: undefined });
  }

  /** A leaf's item; for an object that is not known, pushes a frame (and the returned item means nothing). */
  #enter(value: unknown, walk: Walk): Item {
    switch (typeof value) {
      case "string":
        return value.length >= this.packer.sizes.textMin ? this.text(value) : value;
      case "number":
      case "boolean":
      case "bigint":
      case "undefined":
        return value;
      case "object":
        break;
      default:
        throw this.#refusal(walk, `a ${typeof value} has no stored form`);
    }
    if (value === null || value instanceof Holes) return value;
    const known = this.#known.get(value);
    let description: Description | Refusal;
    try {
      if (known && (known.seenAt === walk.moment || unchanged(value, known, walk))) {
        known.seenAt = walk.moment;
        return known.node;
      }
      description = walk.open.has(value) ? CYCLE : describe(value, this.classes);
    } catch (error) {
      // a getter, or a proxy
      const reason = error instanceof Error ? error.message : String(error);
      throw this.#refusal(walk, `reading it failed: ${reason}`);
    }
    if (description instanceof Refusal) throw this.#refusal(walk, description.reason);
    const twin = twinOf(description, walk.moment);
    if (twin) {
      this.#remember(value, twin, walk.moment);
      return twin;
    }
    walk.open.add(value);
    walk.stack.push({ source: value, description, items: [] });
    return undefined;
  }

  #leave({ source, description, items }: Frame, walk: Walk): ValueNode {
    const node = new ValueNode(description.op, items, this.packer);
    // made now, children before parents: asking the root alone would recurse
    void node.form;
    walk.open.delete(source);
    if (!(source instanceof Description)) {
      this.#remember(source, node, walk.moment);
      if (isLongList(description)) {
        walk.moment.lists.set(description.items[0], { values: description.items, node });
      }
    }
    return node;
  }

  #refusal(walk: Walk, reason: string): UnstorableValueError {
    return new UnstorableValueError({ path: pathOf(walk.path, walk.stack), reason });
  }

  /** A long string as a chunk, a very long one as several. */
  text(text: string): Item {
    if (text.length <= SEGMENTS_ABOVE) return this.#textNode(text);
    const segments = segmentsOf(text).map((segment) => this.#textNode(segment));
    return new ValueNode(OP.TEXT_LIST, segments, this.packer);
  }

  #textNode(text: string): TextNode {
    let chunk = this.#texts.get(text);
    if (!chunk) {
      chunk = chunkOf(JSON.stringify(text), []);
      this.#rememberText(text, chunk);
    }
    return new TextNode(text, chunk);
  }

  #rememberText(text: string, chunk: Chunk): void {
    this.#textChars += text.length;
    if (this.#textChars > TEXTS_MAX) {
      this.#texts = new Map();
      this.#textChars = text.length;
    }
    this.#texts.set(text, chunk);
  }
}

/** Whether an object of this kind, with so many items, is remembered with its node. */
export function isRemembered(op: Op, count: number): boolean {
  return op === OP.MESSAGE || (count >= REMEMBER_FROM && op !== OP.BODY && op !== OP.TEXT_LIST);
}

/** All nodes in `items`, what is in a node before it. */
function* inOrderOfEnds(items: readonly Item[]): Generator<ValueNode> {
  const stack: { readonly node: ValueNode | undefined; readonly items: readonly Item[]; next: number }[] = [
    { node: undefined, items, next: 0 },
  ];
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    if (top.next === top.items.length) {
      if (top.node) yield top.node;
      stack.pop();
      continue;
    }
    const item = top.items[top.next++];
    if (item instanceof ValueNode) stack.push({ node: item, items: item.items, next: 0 });
  }
}

function isLongList({ op, items }: Description): boolean {
  return op === OP.ARRAY && items.length >= REMEMBER_FROM;
}

/** The node of a list that was encoded at this moment and has the very same items. */
function twinOf(description: Description, { lists }: Moment): ValueNode | undefined {
  const { items } = description;
  const other = isLongList(description) ? lists.get(items[0]) : undefined;
  if (other?.values.length !== items.length) return undefined;
  for (let i = 0; i < items.length; i++) if (!Object.is(items[i], other.values[i])) return undefined;
  return other.node;
}

function pathOf(root: string, stack: readonly Frame[]): string {
  let path = root;
  for (const { description, items } of stack) {
    const index = items.length;
    const pairsAfter = PAIRS_AFTER.get(description.op);
    if (description.op === OP.MESSAGE || description.op === OP.KEYED_ARRAY) continue;
    if (description.op === OP.ARRAY) path += `[${arrayIndex(description.items, index)}]`;
    else if (description.op === OP.MAP) path += `.${index % 2 === 0 ? "key" : "value"}(${index >> 1})`;
    else if (description.op === OP.SET) path += `.item(${index})`;
    else if (description.op === OP.ERROR && index === 4) path += ".cause";
    else if (pairsAfter !== undefined && (index - pairsAfter) % 2 === 1)
      path += keyPath(String(description.items[index - 1]));
    else if (description.op === OP.DELTA_SNAPSHOT) path += ".value";
  }
  return path;
}

function arrayIndex(items: readonly unknown[], at: number): number {
  let index = 0;
  for (let i = 0; i < at; i++) {
    const item = items[i];
    index += item instanceof Holes ? item.count : 1;
  }
  return index;
}

function keyPath(key: string): string {
  if (key === "") return ".lc_kwargs";
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
