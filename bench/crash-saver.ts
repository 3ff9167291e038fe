/**
 * Kills processes that write through CompactSaver, at random moments and at named points, and checks after each kill that the storage is sound and
 * that nothing acknowledged is gone. `npx tsx bench/crash-saver.ts --help`. Exit code 1 if anything is wrong.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runKills } from "./crash-saver/kills.ts";
import { STORAGES, type Storage } from "./crash-saver/stores.ts";

const USAGE = `npx tsx bench/crash-saver.ts [options]
  --kills N        on each storage (default 500)
  --storage NAMES  some of ${STORAGES.join(",")} (default all)
  --seed N         (default 1)
  --record         write bench/results/saver-crashes.txt
Servers: TEST_POSTGRES_URL and TEST_REDIS_URL, default those of this machine; schemas and keys of its own are made and dropped.`;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "500" },
    storage: { type: "string", default: STORAGES.join(",") },
    seed: { type: "string", default: "1" },
    record: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const kills = Number(values.kills);
const names = values.storage.split(",");
if (values.help || !Number.isSafeInteger(kills) || kills < 1 || !names.every(isStorage)) {
  console.log(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else process.exitCode = await main(names.filter(isStorage));

async function main(storages: readonly Storage[]): Promise<number> {
  const lines: string[] = [];
  const print = (text: string) => {
    console.log(text);
    lines.push(text);
  };
  let wrong = 0;
  for (const storage of storages) {
    const report = await runKills({
      storage,
      kills,
      seed: Number(values.seed),
    });
    print(
      `${storage}: ${report.kills} kills, ${report.acknowledged} calls acknowledged before them, ${report.wrong.length} things wrong`,
    );
    print(`  ${[...report.byPoint].map(([point, count]) => `${point} ${count}`).join(", ")}`);
    for (const text of report.wrong.slice(0, 20)) print(`  WRONG ${text}`);
    wrong += report.wrong.length;
  }
  if (values.record)
    writeFileSync(
      fileURLToPath(new URL("./results/saver-crashes.txt", import.meta.url)),
      `npx tsx bench/crash-saver.ts ${process.argv.slice(2).join(" ")}\n\n${lines.join("\n")}\n`,
    );
  return wrong === 0 ? 0 : 1;
}

function isStorage(name: string): name is Storage {
  return (STORAGES as readonly string[]).includes(name);
}
