import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import { expect, it } from "vitest";
import { tempFile } from "./temp.ts";

/** Node's answer to an import of a package that is not installed. */
const HIDE = `
export async function resolve(specifier, context, next) {
  if (specifier === "better-sqlite3")
    throw Object.assign(new Error("Cannot find package 'better-sqlite3'"), { code: "ERR_MODULE_NOT_FOUND" });
  return next(specifier, context);
}`;

it("without better-sqlite3 a SQLite target says what to install, before it touches the disk", async () => {
  const path = tempFile();
  const entry = new URL("../src/index.ts", import.meta.url);
  const program = `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(HIDE)}));
    const { CompactSaver } = await import(${JSON.stringify(entry.href)});
    const saver = CompactSaver.fromConnString(${JSON.stringify(path)});
    const error = await saver.setup().catch((error) => error);
    process.stdout.write(JSON.stringify({ code: error.code, message: error.message }));`;
  const args = [...TYPESCRIPT_ARGS, "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const error = JSON.parse(stdout) as { code: string; message: string };
  expect(error.code).toBe("MISSING_PEER");
  expect(error.message).toContain("npm install better-sqlite3");
  expect(existsSync(path)).toBe(false);
});
