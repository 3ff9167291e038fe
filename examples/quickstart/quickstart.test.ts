import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import { expect, it } from "vitest";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

it.each(["create-agent.ts", "state-graph.ts"])("%s prints what the README promises", async (name) => {
  const { BASE_URL: _url, MODEL: _model, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [...TYPESCRIPT_ARGS, path(name)], { env });
  expect(stdout).toBe("COMPLETED final_answer\nOrder O-7 is paid: 30 EUR.\n");
});

it.each(["create-agent.ts", "state-graph.ts"])("the README shows the lines of %s", (name) => {
  const squeeze = (text: string) =>
    text
      .replace(/\s*\/\/.*$/gm, "")
      .replace(/,?\s+/g, "")
      .replace(/,(?=[)}\]])/g, "");
  const program = squeeze(readFileSync(path(name), "utf8"));
  const start = program.search(/const(agent|graph)=/);
  const end = program.indexOf("console.log(result.status");
  expect(squeeze(readFileSync(path("../../README.md"), "utf8")).includes(program.slice(start, end))).toBe(
    true,
  );
});
