/**
 * Demo runs over many worlds and kill plans, and the controls that show that the demo can fail. `npm run bench -- --help`.
 * Exit code 1 if a run is not right, or a control is.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { UsageError } from "@longhaul/examples/shared/usage-error.ts";
import { compare } from "./demo-runs/bars.ts";
import { type BenchOptions, killsOf, parseBenchOptions, USAGE } from "./demo-runs/bench-options.ts";
import { controlsOf } from "./demo-runs/controls.ts";
import { runOnce } from "./demo-runs/one-run.ts";
import { runJobs } from "./demo-runs/run-jobs.ts";

/** A run is an agent and a server process; more at a time only make each other late. */
const AT_ONCE = Math.min(2, availableParallelism());

interface Line {
  readonly ok: boolean;
  readonly text: string;
}

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort());
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) console.error(`\n${USAGE}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(USAGE);
    return 0;
  }
  const options = parseBenchOptions(args);
  const lines: string[] = [];
  const print = (text: string) => {
    console.log(text);
    lines.push(text);
  };
  const started = performance.now();
  const runs = await runJobs({
    jobs: options.seeds.map((seed) => () => demoRun(seed, options)),
    atOnce: AT_ONCE,
    stop: stop.signal,
    onDone: ({ text }) => print(text),
  });
  const right = runs.filter(({ ok }) => ok).length;
  print(
    `${right} of ${options.seeds.length} runs right, every side effect once, none missing${options.compare ? ", every bar of costs met" : ""}`,
  );
  let failedControls = 0;
  const controls = options.controls ? controlsOf(options.seeds) : [];
  if (controls.length > 0) {
    print("controls, each of which must fail:");
    const verdicts = await runJobs({
      jobs: controls.map((control) => async (): Promise<Line> => {
        const { failed, detail } = await control.run(stop.signal);
        return {
          ok: failed,
          text: `${failed ? "fails as it should" : "DOES NOT FAIL"} · ${control.name} · ${short(detail)}`,
        };
      }),
      atOnce: AT_ONCE,
      stop: stop.signal,
      onDone: ({ text }) => print(text),
    });
    failedControls = verdicts.filter(({ ok }) => ok).length;
    print(`${failedControls} of ${controls.length} controls fail as they should`);
  }
  console.log(`${((performance.now() - started) / 1_000).toFixed(0)} s`);
  if (options.record) record(options.compare ? "demo-costs.txt" : "demo-runs.txt", args, lines);
  return right === options.seeds.length && failedControls === controls.length ? 0 : 1;
}

async function demoRun(seed: number, options: BenchOptions): Promise<Line> {
  const graph = isGraph(seed, options);
  const name = `seed ${String(seed).padStart(2)} ${graph ? "StateGraph " : "createAgent"}`;
  try {
    const outcome = await runOnce(
      { seed, kills: killsOf(seed), graph, baseline: options.compare },
      stop.signal,
    );
    const comparison = options.compare ? compare(outcome) : { met: true, facts: [] };
    const { longhaul, kills, answer, effectFaults, tally } = outcome;
    const effects = tally.map(({ done, wanted }) => `${done}/${wanted}`).join(" ");
    const facts = [
      `${answer.right ? "" : "WRONG: "}${answer.reason}`,
      `effects ${effects}${effectFaults.length > 0 ? ` WRONG: ${effectFaults.join("; ")}` : ""}`,
      `${longhaul.end.steps} steps, ${longhaul.end.resets} resets`,
      `${(longhaul.costs.raw / 1e6).toFixed(2)}M tokens`,
      `${(longhaul.databaseBytes / 1e6).toFixed(1)} MB`,
      `${kills.length}/${outcome.plannedKills} kills: ${kills.join(", ")}`,
      ...comparison.facts,
      ...(longhaul.end.status === "COMPLETED" ? [] : [longhaul.end.status, longhaul.end.failure ?? ""]),
    ];
    const ok = outcome.ok && comparison.met;
    return { ok, text: `${ok ? "right" : "WRONG"} · ${name} · ${facts.join(" · ")}` };
  } catch (error) {
    return { ok: false, text: `WRONG · ${name} · ${error instanceof Error ? error.message : String(error)}` };
  }
}

function isGraph(seed: number, { forms }: BenchOptions): boolean {
  return forms === "graph" || (forms === "some" && seed % 4 === 2);
}

function short(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)} …` : text;
}

function record(file: string, args: readonly string[], lines: readonly string[]): void {
  const path = fileURLToPath(new URL(`./results/${file}`, import.meta.url));
  writeFileSync(path, `$ npm run bench -- ${args.join(" ")}\n${lines.join("\n")}\n`);
}
