/**
 * Several processes at once on one new SQLite file: no lock error, no lost write. `npx tsx bench/contention-saver.ts --help`. Exit code 1 otherwise.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { contend } from "./contention-saver/contend.ts";

const USAGE = `npx tsx bench/contention-saver.ts [options]
  --processes N   (default 8)
  --runs N        of each, three checkpoints with nine writes (default 200)
  --record        write bench/results/saver-contention.txt`;

const { values } = parseArgs({
  options: {
    processes: { type: "string", default: "8" },
    runs: { type: "string", default: "200" },
    record: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const [processes, runs] = [Number(values.processes), Number(values.runs)];
const isValid = [processes, runs].every((n) => Number.isSafeInteger(n) && n > 0);
if (values.help || !isValid) {
  console.log(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else process.exitCode = await main();

async function main(): Promise<number> {
  const start = performance.now();
  const { calls, longestMs, retries, wrong } = await contend(processes, runs);
  const lines = [
    `${processes} processes, ${runs} runs each: ${calls} calls in ${((performance.now() - start) / 1_000).toFixed(1)} s, the longest ${longestMs.toFixed(0)} ms; ${retries} lost races for the shared record; ${wrong.length} things wrong`,
    ...wrong.slice(0, 20).map((text) => `  WRONG ${text}`),
  ];
  console.log(lines.join("\n"));
  if (values.record)
    writeFileSync(
      fileURLToPath(new URL("./results/saver-contention.txt", import.meta.url)),
      `npx tsx bench/contention-saver.ts ${process.argv.slice(2).join(" ")}\n\n${lines.join("\n")}\n`,
    );
  return wrong.length === 0 ? 0 : 1;
}
