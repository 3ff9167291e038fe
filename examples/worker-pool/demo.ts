/** `npm run pool -- --help` */
import { parseArgs } from "node:util";
import { DATABASE } from "./database.ts";
import { runPool } from "./pool.ts";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "4" },
    jobs: { type: "string", default: "40" },
    kills: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    url: { type: "string", default: DATABASE },
    help: { type: "boolean", default: false },
  },
});
const [workers, jobs, kills, seed] = [values.workers, values.jobs, values.kills, values.seed].map(Number) as [
  number,
  number,
  number,
  number,
];
if (values.help || !(workers >= 1 && jobs >= 1 && kills >= 0 && Number.isInteger(seed))) {
  console.log(
    "npm run pool -- [--workers 4] [--jobs 40] [--kills 20] [--seed 1] [--url postgres://…]\n" +
      "Workers on one Postgres database drive agents to their end while some of them are killed. Makes schemas of its own and drops them.",
  );
  process.exitCode = values.help ? 0 : 2;
} else {
  const report = await runPool({ url: values.url, workers, jobs, kills, seed });
  console.log(`${jobs} jobs, ${workers} workers, ${report.kills} killed and replaced`);
  for (const [how, count] of Object.entries(report.endings)) console.log(`  ${how}: ${count}`);
  console.log(`  runs taken over from dead workers: ${report.takeovers}`);
  console.log(
    `  done twice: ${report.duplicates.length}, lost: ${report.losses.length}, mails reported as unknown: ${report.unknownMails}`,
  );
  for (const line of [...report.duplicates, ...report.losses]) console.log(`  WRONG ${line}`);
  process.exitCode = report.duplicates.length + report.losses.length === 0 ? 0 : 1;
}
