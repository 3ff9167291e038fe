/**
 * Kills agents at each point between the steps of an effect, at random moments, and behind every step, lets them go on in new processes, and counts
 * their effects in a world outside the product. `npx tsx bench/crash-effects.ts --help`. Exit code 1 if anything is wrong.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { allCells, DURABILITIES, MODES, nameOf, POINTS, SHAPES } from "./crash-effects/cells.ts";
import { type CellResult, runMatrix, violations } from "./crash-effects/matrix.ts";
import { runRandomKills } from "./crash-effects/random-kills.ts";
import { STORAGES, type Storage } from "./crash-effects/stores.ts";
import { alwaysSuspend, SUSPENDED } from "./crash-effects/suspend.ts";

const PARTS = ["matrix", "control", "random", "suspend"] as const;
const USAGE = `npx tsx bench/crash-effects.ts [options]
  --parts NAMES     some of ${PARTS.join(",")} (default all)
  --storage NAMES   some of ${STORAGES.join(",")} (default all)
  --runs N          of the random part, over all storages (default 100; 60 steps and 10 kills each)
  --seed N          (default 1)
  --record          write bench/results/crash-effects.txt
Postgres: TEST_POSTGRES_URL, default that of this machine; schemas of its own are made and dropped.`;

let seen = 0;
const { values } = parseArgs({
  options: {
    parts: { type: "string", default: PARTS.join(",") },
    storage: { type: "string", default: STORAGES.join(",") },
    runs: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    record: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const parts = values.parts.split(",");
const storages = values.storage.split(",");
const runs = Number(values.runs);
const isKnown = (names: readonly string[], known: readonly string[]) =>
  names.every((name) => known.includes(name));
if (values.help || !isKnown(parts, PARTS) || !isKnown(storages, STORAGES) || !(runs >= 1)) {
  console.log(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else process.exitCode = await main(storages as Storage[]);

async function main(on: readonly Storage[]): Promise<number> {
  const lines: string[] = [];
  const print = (text: string) => {
    console.log(text);
    lines.push(text);
  };
  const wrong: string[] = [];
  print(`Node ${process.version}, ${cpus().length} cores`);
  if (parts.includes("matrix")) {
    const cells = allCells({ modes: MODES, shapes: SHAPES, durabilities: DURABILITIES, points: POINTS });
    const results: CellResult[] = [];
    for (const storage of on)
      results.push(...(await runMatrix({ cells, storage, guarded: true, onCell: progress })));
    print(
      `\nmatrix on ${on.join(", ")}: ${results.length} cells, each with one kill, durability sync, async and exit`,
    );
    print(table(results));
    wrong.push(...violations(results));
  }
  if (parts.includes("control")) {
    const cells = allCells({
      modes: MODES,
      shapes: SHAPES,
      durabilities: DURABILITIES,
      points: ["K3"],
    }).filter(({ nth }) => nth === 1);
    const results: CellResult[] = [];
    for (const storage of on)
      results.push(...(await runMatrix({ cells, storage, guarded: false, onCell: progress })));
    const duplicates = results.reduce((sum, { duplicates }) => sum + duplicates, 0);
    const without = results.filter((result) => result.duplicates === 0);
    print(
      `\ncontrol without the ledger: ${results.length} cells killed behind the effect, ${duplicates} effects done twice`,
    );
    for (const { cell, storage } of without)
      wrong.push(`control ${storage} ${nameOf(cell)}: nothing was done twice`);
  }
  if (parts.includes("suspend"))
    for (const storage of on)
      for (const what of SUSPENDED) {
        const report = await alwaysSuspend(storage, what);
        print(
          `always suspended, ${what.name} on ${storage}: ${report.lives} lives, ${report.wrong.length} things wrong`,
        );
        wrong.push(...report.wrong);
      }
  if (parts.includes("random"))
    for (const [n, storage] of on.entries()) {
      const share = Math.floor(runs / on.length) + (n < runs % on.length ? 1 : 0);
      const report = await runRandomKills({
        storage,
        runs: share,
        steps: 60,
        killsPerRun: 10,
        seed: Number(values.seed) + n,
        onRun: (run, kills) =>
          process.stderr.write(`\r${storage} run ${run + 1} of ${share}, ${kills} kills   `),
      });
      process.stderr.write("\r\x1b[K");
      print(
        `random on ${storage}, seed ${Number(values.seed) + n}: ${report.runs} runs of 60 steps, ${report.kills} kills, ${report.effects} effects, ` +
          `${report.unknown} record calls reported as unknown, ${report.wrong.length} things wrong`,
      );
      wrong.push(...report.wrong);
    }
  for (const text of wrong.slice(0, 50)) print(`WRONG ${text}`);
  print(`\n${wrong.length} things wrong`);
  if (values.record)
    writeFileSync(
      fileURLToPath(new URL("./results/crash-effects.txt", import.meta.url)),
      `npx tsx bench/crash-effects.ts ${process.argv.slice(2).join(" ")}\n\n${lines.join("\n")}\n`,
    );
  return wrong.length === 0 ? 0 : 1;
}

function progress({ cell, storage, wrong }: CellResult): void {
  process.stderr.write(`\r${++seen} ${storage} ${nameOf(cell)}   \x1b[K`);
  for (const text of wrong) process.stderr.write(`\n  ${text}\n`);
}

/** Modes and points down, shapes across: effects done twice, effects lost, outcomes told as unknown, of so many kills. */
function table(results: readonly CellResult[]): string {
  const rows = [["mode", "point", ...SHAPES.map((shape) => `${shape}: twice/lost/unknown of kills`)]];
  for (const mode of MODES)
    for (const point of POINTS)
      rows.push([
        mode,
        point,
        ...SHAPES.map((shape) => {
          const of = results.filter(
            ({ cell }) => cell.mode === mode && cell.point === point && cell.shape === shape,
          );
          const sum = (count: (result: CellResult) => number) => of.reduce((all, one) => all + count(one), 0);
          return `${sum((one) => one.duplicates)}/${sum((one) => one.losses)}/${sum((one) => one.unknown)} of ${sum((one) => one.kills)}`;
        }),
      ]);
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ")).join("\n");
}
