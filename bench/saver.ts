/**
 * CompactSaver against LangGraph's own savers: bytes, times, memory, with every checkpoint compared. `npx tsx bench/saver.ts --help`.
 * Exit code 1 if a bar is missed. The official savers write about 2 GB under the system's temporary folder, which is deleted.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { UsageError } from "@longhaul/examples/shared/usage-error.ts";
import { allWorks } from "./saver/all-works.ts";
import { parseSaverBenchOptions, SAVER_USAGE } from "./saver/options.ts";
import { type RecordedRun, recordRun } from "./saver/recorded-run.ts";

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${SAVER_USAGE}` : error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(SAVER_USAGE);
    return 0;
  }
  const names = allWorks.map(({ name }) => name);
  const options = parseSaverBenchOptions(args, names);
  const lines: string[] = [];
  const print = (text: string) => {
    console.log(text);
    lines.push(text);
  };
  let recording: Promise<RecordedRun> | undefined;
  const context = {
    steps: options.steps,
    compare: options.compare,
    postgres: process.env.TEST_POSTGRES_URL ?? "postgres://postgres@127.0.0.1:5432/postgres",
    slack: 1,
    recorded: () => {
      recording ??= recordRun(options.steps);
      return recording;
    },
  };
  print(`Node ${process.version}, ${cpus().length} cores`);
  let missed = 0;
  for (const work of allWorks.filter(({ name }) => options.only.includes(name))) {
    print(`\n${work.name} · ${work.title}`);
    for await (const { text, met } of work.run(context)) {
      print(`  ${text}`);
      if (!met) missed += 1;
    }
  }
  print(missed === 0 ? "\nevery bar met" : `\n${missed} bars missed`);
  if (options.record) {
    const file = fileURLToPath(new URL("./results/saver.txt", import.meta.url));
    writeFileSync(file, `npx tsx bench/saver.ts ${args.join(" ")}\n\n${lines.join("\n")}\n`);
  }
  return missed === 0 ? 0 : 1;
}
