import { readFileSync } from "node:fs";
import type { RetentionPolicy } from "../checkpoint/retention.ts";
import type { CompactSaverOptions } from "../saver-options.ts";
import { type CliIo, UsageError } from "./io.ts";

export const OPTIONS = {
  json: { type: "boolean" },
  help: { type: "boolean" },
  limit: { type: "string" },
  namespace: { type: "string" },
  checkpoint: { type: "string" },
  all: { type: "boolean" },
  "keep-last": { type: "string" },
  "max-age": { type: "string" },
  "no-milestones": { type: "boolean" },
  "dry-run": { type: "boolean" },
  out: { type: "string" },
  thread: { type: "string" },
  version: { type: "boolean" },
  "key-env": { type: "string", multiple: true },
  "key-file": { type: "string", multiple: true },
  "accept-plaintext": { type: "boolean" },
  "redis-prefix": { type: "string" },
} as const;

export type Values = { readonly [name in keyof typeof OPTIONS]?: string | boolean | string[] | undefined };

/** Which options a command takes besides those of every command. */
export function checkOptions(values: Values, allowed: readonly (keyof typeof OPTIONS)[]): void {
  const always = ["json", "help", "version", "key-env", "key-file", "accept-plaintext", "redis-prefix"];
  for (const name of Object.keys(values) as (keyof typeof OPTIONS)[])
    if (!always.includes(name) && !allowed.includes(name))
      throw new UsageError(`--${name} is not an option of this command`);
}

export function countOf(values: Values, name: "limit" | "keep-last", fallback?: number): number | undefined {
  const text = values[name];
  if (text === undefined) return fallback;
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1)
    throw new UsageError(`--${name} must be a whole number, at least 1`);
  return count;
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

export function policyOf(values: Values): RetentionPolicy | "recommended" {
  const keepLast = countOf(values, "keep-last");
  const age = values["max-age"];
  const match = typeof age === "string" ? /^(\d+(?:\.\d+)?)([smhdw])$/.exec(age) : null;
  if (age !== undefined && !match)
    throw new UsageError("--max-age must be a number and s, m, h, d or w, as in 7d");
  const maxAgeMs = match ? Number(match[1]) * (UNITS[match[2] ?? ""] ?? 0) : undefined;
  if (keepLast === undefined && maxAgeMs === undefined) {
    if (values["no-milestones"]) throw new UsageError("--no-milestones needs --keep-last or --max-age");
    return "recommended";
  }
  return { keepLast, maxAgeMs, milestones: !values["no-milestones"] };
}

/** What every command may be told of the storage. */
export function saverOptionsOf(values: Values, io: CliIo): CompactSaverOptions {
  const keys = keysOf(values, io);
  const [first] = keys.keys();
  const keyOf = (id: string) => keys.get(id) ?? (keys.size === 1 ? keys.get(ONLY) : undefined);
  return {
    ...(first === undefined
      ? {}
      : {
          encryptionKey: keyOf as (id: string) => Uint8Array,
          ...(first === ONLY ? {} : { encryptionKeyId: first }),
        }),
    ...(values["accept-plaintext"] ? { acceptPlaintext: true } : {}),
    ...(typeof values["redis-prefix"] === "string" ? { redis: { keyPrefix: values["redis-prefix"] } } : {}),
  };
}

/** Stands for the id of a key that was given without one: whatever the rows call it. */
const ONLY = "";

/** By id, in the order in which they were given; the first encrypts. Never from the command line itself, where others could read them. */
function keysOf(values: Values, io: CliIo): Map<string, Uint8Array> {
  const keys = new Map<string, Uint8Array>();
  const add = (option: string, given: string, read: (name: string) => Buffer) => {
    const [, id = ONLY, name = ""] = /^(?:([^=]*)=)?(.*)$/s.exec(given) ?? [];
    if (keys.has(id)) throw new UsageError(`${option} ${given}: two keys of one id; write ${option} ID=…`);
    keys.set(id, keyFrom(read(name)));
  };
  for (const given of listOf(values["key-env"]))
    add("--key-env", given, (name) => {
      const text = io.env(name);
      if (text === undefined) throw new UsageError(`the environment has no ${name}`);
      return Buffer.from(text, "utf8");
    });
  for (const given of listOf(values["key-file"])) add("--key-file", given, (name) => readFileSync(name));
  if (keys.size > 1 && keys.has(ONLY)) throw new UsageError("of several keys each needs its id: ID=NAME");
  return keys;
}

function listOf(value: Values[string & keyof Values]): readonly string[] {
  return Array.isArray(value) ? value : [];
}

/** 32 bytes, as they are, in hexadecimal digits, or in base64. */
function keyFrom(bytes: Buffer): Uint8Array {
  if (bytes.length === 32) return bytes;
  const text = bytes.toString("utf8").trim();
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  if (key.length !== 32)
    throw new UsageError("the key must be 32 bytes, 64 hexadecimal digits, or 32 bytes in base64");
  return key;
}
