/**
 * What Longhaul does to the requests of agents that ran before: recorded runs go through `longhaul()` again with a model that
 * answers what was recorded. `npm run replay -- --help`.
 */

import { replayFile } from "./replay-file.ts";
import { parseReplayOptions, USAGE } from "./replay-options.ts";
import { chainLine, renderReplayReport } from "./replay-report.ts";

if (process.argv.includes("--help")) {
  console.log(USAGE);
  process.exit(0);
}
try {
  const options = parseReplayOptions(process.argv.slice(2));
  const outcomes = await replayFile(options, {
    malformed: ({ line, reason }) => console.error(`line ${line} is left out: ${reason}`),
    // With one run a thread, the threads that went well are of no interest one by one.
    chainDone: (outcome, index, count) => {
      if (outcome.failure !== undefined) console.error(chainLine(outcome, index, count));
      else if (options.chain > 1) console.log(chainLine(outcome, index, count));
    },
  });
  console.log(renderReplayReport(outcomes));
  process.exitCode = outcomes.some((outcome) => outcome.failure !== undefined) ? 1 : 0;
} catch (error) {
  const { code, message } = error as { code?: string; message?: string };
  console.error(`${code ?? "ERROR"}: ${message ?? String(error)}`);
  if (code === "USAGE") console.error(`\n${USAGE}`);
  process.exitCode = code === "USAGE" ? 2 : 1;
}
