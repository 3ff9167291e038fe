/**
 * One effect for any number of callers in any number of processes, and what ledger and guard cost a call. `npx tsx bench/effects.ts --help`. Exit
 * code 1 if anything is wrong or a bar is missed.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type ClaimsReport, claimTogether } from "./effects/claims.ts";
import { FACES, measureOverhead, type Overhead } from "./effects/overhead.ts";
import { answers, STORAGES, type Storage } from "./effects/places.ts";

/** Milliseconds in the median of a call with a durable claim. */
const BARS: Partial<Record<Storage, number>> = { memory: 0.2, sqlite: 2 };

const USAGE = `npx tsx bench/effects.ts [options]
  --calls N    of each measurement of the overhead (default 300)
  --keys N     that 4 processes × 8 callers claim together on each storage (default 50)
  --record     write bench/results/effects.txt
Servers: TEST_POSTGRES_URL and TEST_REDIS_URL, default those of this machine; a storage without its server is left out with a line that says so.`;

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "300" },
    keys: { type: "string", default: "50" },
    record: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const [calls, keys] = [Number(values.calls), Number(values.keys)];
if (values.help || ![calls, keys].every((n) => Number.isSafeInteger(n) && n > 0)) {
  console.log(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else process.exitCode = await main();

async function main(): Promise<number> {
  const lines: string[] = [];
  const print = (text: string) => {
    console.log(text);
    lines.push(text);
  };
  let isRight = true;
  print(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"})`);
  const there: Storage[] = [];
  for (const storage of STORAGES)
    if (await answers(storage)) there.push(storage);
    else print(`LEFT OUT: no server of ${storage} answers`);

  print("\nclaims of one key at once");
  for (const storage of there.filter((name) => name !== "memory"))
    for (const guarded of [true, false]) {
      const report = await claimTogether({
        storage,
        processes: 4,
        callers: 8,
        keys: guarded ? keys : 5,
        guarded,
      });
      isRight &&= report.wrong.length === 0;
      print(claimsLine(report));
      for (const text of report.wrong) print(`    WRONG ${text}`);
    }

  print("\na guarded call, less a bare one");
  for (const storage of there)
    for (const face of FACES)
      for (const effect of ["record", "none"] as const) {
        const overhead = await measureOverhead(face, storage, effect, calls);
        const bar = BARS[storage];
        const met = Number.isFinite(overhead.median) && (bar === undefined || overhead.median <= bar);
        isRight &&= met;
        print(overheadLine(overhead, bar, met));
      }
  if (values.record)
    writeFileSync(
      fileURLToPath(new URL("./results/effects.txt", import.meta.url)),
      `npx tsx bench/effects.ts ${process.argv.slice(2).join(" ")}\n\n${lines.join("\n")}\n`,
    );
  return isRight ? 0 : 1;
}

function claimsLine({ storage, processes, callers, keys, guarded, effects, most, ms }: ClaimsReport): string {
  const sorted = [...ms].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const who = `${storage.padEnd(8)} ${processes} processes × ${callers} callers, ${keys} keys`;
  const did = `${effects} effects, at most ${most} of one key`;
  return `  ${who}: ${did}; all answered after ${median.toFixed(0)} ms (median)${guarded ? "" : " · control without the ledger"}`;
}

function overheadLine(
  { face, storage, effect, median, p95, calls }: Overhead,
  bar: number | undefined,
  met: boolean,
) {
  const at = `${storage.padEnd(8)} ${face.padEnd(11)} effect ${`"${effect}"`.padEnd(8)}`;
  const figures = `median ${median.toFixed(3)} ms, p95 ${p95.toFixed(3)} ms of ${calls} calls`;
  return `  ${at}: ${figures}${bar === undefined ? "" : ` (bar ${bar} ms)`}${met ? "" : "  MISSED"}`;
}
