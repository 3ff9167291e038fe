import type { StorageDriver } from "../driver/driver.ts";
import type { TestRunner } from "./runner.ts";

export interface DriverFixture {
  readonly driver: StorageDriver;
  /** A second instance on the same storage; absent where there can be none. The test closes it. */
  another?(): Promise<StorageDriver>;
  /** Moves the clock that the driver reads. */
  advance(ms: number): void;
  readonly now: () => number;
  close?(): Promise<void>;
}

export type DriverTest = (
  title: string,
  body: (fixture: DriverFixture, equal: TestRunner["equal"]) => Promise<void>,
) => void;

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function text(data: Uint8Array | undefined): string {
  return data ? new TextDecoder().decode(data) : "(absent)";
}

/** Names that paths, patterns, keys, case-folding and limits of back ends stumble over. */
export const HOSTILE: readonly string[] = [
  "plain",
  "__proto__",
  "constructor",
  "../up",
  "../../../etc/passwd",
  "/absolute",
  "a/b",
  "a\\b",
  "a:b|c;d",
  "C:\\x",
  ".",
  "..",
  "CON",
  "con",
  "Con",
  "trailing.",
  "trailing ",
  " leading",
  "quote'\"`",
  "'; DROP TABLE heads; --",
  "%_*?[]",
  "{tag}",
  "line\nbreak\r\ttab",
  "é",
  "e\u0301",
  "日本語",
  "🦔",
  "\u202Eright to left",
  "\uFFFD",
  "null",
  "0",
  "-1",
  "x".repeat(255),
  "x".repeat(256),
  "long".repeat(1_024),
  `${"long".repeat(1_023)}tail`,
];
