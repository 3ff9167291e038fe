import { readFileSync } from "node:fs";
import type { RetentionPolicy } from "../checkpoint/retention.ts";
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
  "key-env": { type: "string" },
  "key-file": { type: "string" },
} as const;

export type Values = { readonly [name in keyof typeof OPTIONS]?: string | boolean | undefined };

/** Which options a command takes besides `--json` and the key. */
export function checkOptions(values: Values, allowed: readonly (keyof typeof OPTIONS)[]): void {
  const always = ["json", "help", "key-env", "key-file"];
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

/** 32 bytes, as they are, in hexadecimal digits, or in base64. Never from the command line, where others could read it. */
export function keyOf(values: Values, io: CliIo): Uint8Array | undefined {
  const name = values["key-env"];
  const file = values["key-file"];
  if (name !== undefined && file !== undefined)
    throw new UsageError("--key-env and --key-file are one too many");
  let bytes: Buffer | undefined;
  if (typeof file === "string") bytes = readFileSync(file);
  if (typeof name === "string") {
    const text = io.env(name);
    if (text === undefined) throw new UsageError(`the environment has no ${name}`);
    bytes = Buffer.from(text, "utf8");
  }
  if (bytes === undefined || bytes.length === 32) return bytes;
  const text = bytes.toString("utf8").trim();
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
  if (key.length !== 32)
    throw new UsageError("the key must be 32 bytes, 64 hexadecimal digits, or 32 bytes in base64");
  return key;
}
