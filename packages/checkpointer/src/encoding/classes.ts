import { types } from "node:util";
import { Document } from "@langchain/core/documents";
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { ChatPromptValue, StringPromptValue } from "@langchain/core/prompt_values";
import { VersionedWrite } from "../checkpoint/state-version.ts";

/** A class of the allow-list; looked up, never constructed. */
export type AnyClass = new (...args: never[]) => unknown;
export type Fields = Record<string, unknown>;

/** Messages by the name under which they are stored. */
const MESSAGES: Record<string, () => object> = {
  AIMessage: () => new AIMessage({ content: "" }),
  AIMessageChunk: () => new AIMessageChunk({ content: "" }),
  ChatMessage: () => new ChatMessage({ content: "", role: "" }),
  ChatMessageChunk: () => new ChatMessageChunk({ content: "", role: "" }),
  FunctionMessage: () => new FunctionMessage({ content: "", name: "" }),
  FunctionMessageChunk: () => new FunctionMessageChunk({ content: "", name: "" }),
  HumanMessage: () => new HumanMessage({ content: "" }),
  HumanMessageChunk: () => new HumanMessageChunk({ content: "" }),
  RemoveMessage: () => new RemoveMessage({ id: "" }),
  SystemMessage: () => new SystemMessage({ content: "" }),
  SystemMessageChunk: () => new SystemMessageChunk({ content: "" }),
  ToolMessage: () => new ToolMessage({ content: "", tool_call_id: "" }),
  ToolMessageChunk: () => new ToolMessageChunk({ content: "", tool_call_id: "" }),
};

/** Other classes of @langchain/core that states hold. Revived without running their constructor. */
const PLAIN_CLASSES: Record<string, AnyClass> = { ChatPromptValue, Document, StringPromptValue };

/** What all messages of a class have in common, and so is not stored. */
export interface MessageTemplate {
  readonly prototype: object;
  /** A fresh instance's own fields in their order; the constant ones with their value. */
  readonly fields: readonly { readonly key: string; readonly isConstant: boolean; readonly value: unknown }[];
  /** The brand under a symbol. */
  readonly symbols: readonly (readonly [symbol, unknown])[];
}

/** Own fields of every message that say nothing about this one. `type` is the class. */
const CONSTANT_FIELDS = new Set([
  "lc_serializable",
  "lc_namespace",
  "lc_kwargs",
  "type",
  "lc_direct_tool_output",
]);

/** Which classes have a stored form, both ways. Only what stands here comes back as an instance. */
export class ClassTable {
  readonly #revive: ReadonlyMap<string, AnyClass>;
  readonly #nameOf: ReadonlyMap<unknown, string>;
  readonly #messageNames = new WeakMap<object, string>();
  readonly #nameLists = new Map<string, readonly string[]>();
  readonly #templates = new Map<string, MessageTemplate>();

  constructor(reviveClasses: Readonly<Record<string, AnyClass>> = {}) {
    // own names are kept apart from ours, so that a later built-in never takes a user's name
    const own = Object.entries(reviveClasses).map(([name, cls]) => [`user:${name}`, cls] as const);
    const entries = [...Object.entries(PLAIN_CLASSES), ["VersionedWrite", VersionedWrite] as const, ...own];
    this.#revive = new Map(entries);
    this.#nameOf = new Map(entries.map(([name, cls]) => [cls, name]));
  }

  /** Name of a message's class, or undefined for other objects and for subclasses of unknown packages. */
  messageClass(value: object): string | undefined {
    const cls = value.constructor as unknown as { lc_name?: () => string };
    if (typeof cls !== "function" || !("lc_namespace" in value)) return undefined;
    // the package's own classes declare lc_name themselves; a subclass inherits it. RemoveMessage declares none
    if (Object.hasOwn(cls, "lc_name")) return this.#messageName(cls);
    const isRemove =
      (value as Fields).type === "remove" && Object.getPrototypeOf(cls)?.lc_name?.() === "BaseMessage";
    return isRemove ? "RemoveMessage" : undefined;
  }

  /** Kept by class: this is asked for each message at each step. */
  #messageName(cls: { lc_name?: () => string }): string | undefined {
    let name = this.#messageNames.get(cls);
    if (name === undefined) {
      const declared = cls.lc_name?.() ?? "";
      name = Object.hasOwn(MESSAGES, declared) ? declared : "";
      this.#messageNames.set(cls, name);
    }
    return name === "" ? undefined : name;
  }

  /** The names in a message's stored list of constructor arguments. There are few different lists. */
  splitNames(list: string): readonly string[] {
    let names = this.#nameLists.get(list);
    if (!names) {
      names = list === "" ? [] : list.split(",");
      if (this.#nameLists.size < 1_000) this.#nameLists.set(list, names);
    }
    return names;
  }

  template(name: string): MessageTemplate | undefined {
    const known = this.#templates.get(name);
    if (known) return known;
    const make = Object.hasOwn(MESSAGES, name) ? MESSAGES[name] : undefined;
    if (!make) return undefined;
    const instance = make();
    const template = {
      prototype: Object.getPrototypeOf(instance) as object,
      fields: Object.entries(instance).map(([key, value]) => {
        const isConstant = CONSTANT_FIELDS.has(key);
        return { key, isConstant, value: isConstant ? (value as unknown) : undefined };
      }),
      symbols: Object.getOwnPropertySymbols(instance).map(
        (symbol) => [symbol, (instance as Record<symbol, unknown>)[symbol]] as const,
      ),
    };
    this.#templates.set(name, template);
    return template;
  }

  classOf(name: string): AnyClass | undefined {
    return this.#revive.get(name);
  }

  /** Stored name of an allow-listed class's instance. A second copy of @langchain/core is known by the name of its class. */
  classNameOf(value: object): string | undefined {
    const cls: unknown = value.constructor;
    const name = this.#nameOf.get(cls);
    if (name !== undefined) return name;
    if (typeof cls !== "function") return undefined;
    if (cls.name === "Document" && "pageContent" in value && "metadata" in value) return "Document";
    const promptValue =
      "lc_namespace" in value && (cls.name === "ChatPromptValue" || cls.name === "StringPromptValue");
    return promptValue ? cls.name : undefined;
  }
}

export function isStoredField(key: string): boolean {
  return key !== "id" && !CONSTANT_FIELDS.has(key);
}

export const ERROR_CLASSES: Readonly<Record<string, ErrorConstructor>> = {
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  EvalError,
  URIError,
};

type ViewConstructor = new (buffer: ArrayBuffer) => object;
const VIEWS: Readonly<Record<string, ViewConstructor>> = {
  DataView,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
};

/** Kind under which binary data is stored. */
export function bytesKind(value: object): string | undefined {
  if (types.isArrayBuffer(value)) return "ArrayBuffer";
  if (!ArrayBuffer.isView(value)) return undefined;
  const name = value.constructor.name;
  return name === "Buffer" || Object.hasOwn(VIEWS, name) ? name : undefined;
}

export function bytesToBase64(value: object): string {
  const view = ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : Buffer.from(value as ArrayBuffer);
  return view.toString("base64");
}

export function bytesFromBase64(kind: string, base64: string): object | undefined {
  const bytes = Buffer.from(base64, "base64");
  if (kind === "Buffer") return bytes;
  // an own buffer: a pooled one would show its neighbours
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  if (kind === "ArrayBuffer") return buffer;
  const View = Object.hasOwn(VIEWS, kind) ? VIEWS[kind] : undefined;
  return View && new View(buffer);
}
