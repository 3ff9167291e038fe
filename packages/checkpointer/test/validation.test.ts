import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompactSaver } from "@longhaul/checkpointer";
import { afterAll } from "vitest";
import { officialSuite } from "./official-suite.ts";

const folder = mkdtempSync(join(tmpdir(), "longhaul-suite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;

officialSuite("memory", () => CompactSaver.fromConnString(":memory:"));
officialSuite("SQLite", () => CompactSaver.fromConnString("sqlite::memory:"));
officialSuite("files", () => CompactSaver.fromConnString(`file:${join(folder, `${made++}`)}`));
