/**
 * The main job end to end: an agent works through a long task over a real OpenAI-compatible connection, its process is killed
 * without warning several times, it goes on where it was, and a report says what it cost. `npm run demo -- --help`.
 */

import { parseDemoOptions, USAGE } from "./run/demo-options.ts";
import { renderReport } from "./run/demo-report.ts";
import { runDemo } from "./run/demo-run.ts";

if (process.argv.includes("--help")) {
  console.log(USAGE);
  process.exit(0);
}
const pause = new AbortController();
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => (pause.signal.aborted ? stop : pause).abort());
}
try {
  const outcome = await runDemo(parseDemoOptions(process.argv.slice(2)), {
    env: process.env,
    pause: pause.signal,
    stop: stop.signal,
  });
  console.log(renderReport(outcome));
  process.exitCode = outcome.paused ? 130 : outcome.ok ? 0 : 1;
} catch (error) {
  const { code, message } = error as { code?: string; message?: string };
  console.error(`${code ?? "ERROR"}: ${message ?? String(error)}`);
  if (code === "USAGE") console.error(`\n${USAGE}`);
  process.exitCode = code === "USAGE" ? 2 : code === "STOPPED" ? 130 : 1;
}
