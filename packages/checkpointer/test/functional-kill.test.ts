import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { describePostgres, postgresSchema } from "./servers.ts";

const CHILD = fileURLToPath(new URL("./functional-child.ts", import.meta.url));

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "functional-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a process to its end: what it told, or the signal that ended it. */
async function run(database: string, plan = "never"): Promise<unknown> {
  const child = fork(CHILD, [database, join(folder, "world.log"), plan], {
    execArgv: [...TYPESCRIPT_ARGS],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  let told: unknown;
  child.on("message", (message) => {
    told = message;
  });
  const [, signal] = (await once(child, "exit")) as [number | null, string | null];
  return signal ?? told;
}

async function dieAndGoOn(database: string): Promise<void> {
  for (const plan of ["die price 2", "die charge 1", "die paid 2", "die end"])
    expect(await run(database, plan), plan).toBe("SIGKILL");
  expect(await run(database)).toMatchObject({
    status: "COMPLETED",
    attempts: 5,
    lastFailure: { code: "CRASH" },
    state: { prices: [10, 20, 30], answers: ["charged", "charged", "charged"] },
  });
  const points = readFileSync(join(folder, "world.log"), "utf8").trim().split("\n");
  const count = (point: string) => points.filter((other) => other === point).length;
  expect(["charge 1", "charge 2", "charge 3"].map(count)).toEqual([1, 1, 1]);
  expect(count("body")).toBe(5);
}

it(
  "D1: a workflow of the functional API, killed at four places on SQLite, ends with each effect once",
  {
    timeout: 120_000,
  },
  () => dieAndGoOn(join(folder, "agent.db")),
);

const { url } = postgresSchema("functional");
describePostgres("on Postgres", () => {
  it(
    "D1: a workflow of the functional API, killed at four places, ends with each effect once",
    {
      timeout: 120_000,
    },
    () => dieAndGoOn(url),
  );
});
