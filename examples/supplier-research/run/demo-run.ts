import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { LonghaulEvent } from "@longhaul/core";
import { addCosts, callCosts, NO_COSTS, servedCosts } from "../../shared/token-costs.ts";
import { AgentProcessError, runAgentProcess } from "./agent-child.ts";
import type { AgentConfig, AgentEnd } from "./agent-messages.ts";
import type { DemoOptions } from "./demo-options.ts";
import { type DemoOutcome, judge, type SideOutcome } from "./demo-outcome.ts";
import { assertAnswers, type Endpoint, endpointFrom, type OpenEndpoint, withEndpoint } from "./endpoint.ts";
import { runFullHistory } from "./full-history.ts";
import { describeKill, type Kill, killPlan } from "./kill-plan.ts";
import { ProgressLine, type ProgressOutput } from "./progress-line.ts";
import { newRunFile, type RunFile, readRunFile, writeRunFile } from "./run-file.ts";

/** Window of the agent under Longhaul, tokens. */
const WINDOW = 32_000;
const EXPECTED_STEPS = 150;
/** The kills are ours, so no server needs the seconds that a supervisor waits before it tries again. */
const SCRIPTED_WAITS_MS = [100];

export interface DemoSetting {
  /** BASE_URL, MODEL, API_KEY. @default none: the scripted server */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Where progress goes. @default standard error */
  readonly out?: ProgressOutput | undefined;
  /** Pauses the run at the agent's next step. */
  readonly pause?: AbortSignal | undefined;
  /** Ends it at once; what was saved stays. */
  readonly stop?: AbortSignal | undefined;
  /** Deaths of the agent process. @default `killPlan` of seed and kills */
  readonly plan?: readonly Kill[] | undefined;
}

/** @throws UsageError, EndpointDownError, NoSuchRunError, AgentProcessError, StoppedError */
export async function runDemo(options: DemoOptions, setting: DemoSetting = {}): Promise<DemoOutcome> {
  const own = endpointFrom(setting.env ?? {});
  const resumed = options.resume === undefined ? undefined : readRunFile(options.resume);
  if (own) await assertAnswers(own);
  const folder = options.resume ?? mkdtempSync(join(tmpdir(), "longhaul-demo-"));
  let isWorthKeeping = resumed !== undefined;
  try {
    let file = resumed ?? newRunFile(options);
    if (!resumed && options.baseline) {
      // First, so that the report comes right behind the main job.
      file = { ...file, baseline: await compareWithFullHistory(options, setting, folder, own) };
    }
    isWorthKeeping = true;
    const outcome = await runMain(file, options, setting, folder, own);
    isWorthKeeping = options.keep || outcome.paused;
    return { ...outcome, folder: isWorthKeeping ? folder : undefined };
  } catch (error) {
    const hint = `What was saved is in ${folder}; --resume ${folder} goes on with it.`;
    if (isWorthKeeping) new ProgressLine(EXPECTED_STEPS, setting.out).note(hint);
    throw error;
  } finally {
    if (!isWorthKeeping) rmSync(folder, { recursive: true, force: true });
  }
}

async function runMain(
  before: RunFile,
  options: DemoOptions,
  setting: DemoSetting,
  folder: string,
  own: Endpoint | undefined,
): Promise<DemoOutcome> {
  const plan = setting.plan ?? killPlan(before.seed, before.kills);
  const progress = new ProgressLine(EXPECTED_STEPS, setting.out);
  const kills = [...before.survived];
  let { turns } = before;
  let counted = NO_COSTS;
  const started = performance.now();
  const onEvent = (event: LonghaulEvent) => {
    progress.see(event);
    if (event.type !== "model.call") return;
    counted = addCosts(counted, callCosts(event));
    if (event.kind === "turn" || event.kind === "retry") turns++;
  };
  return withEndpoint(own, WINDOW, async (open) => {
    const soFar = async (): Promise<RunFile> => {
      const served = await open.served();
      const costs = addCosts(before.costs, served ? servedCosts(served) : counted);
      const seconds = before.seconds + (performance.now() - started) / 1_000;
      return { ...before, survived: kills, turns, costs, seconds };
    };
    writeRunFile(folder, before);
    let end: AgentEnd | undefined;
    while (!end) {
      const kill = plan[kills.length];
      const config = mainConfig({ before, options, folder, open, kill });
      const result = await runAgentProcess(config, { onEvent, pause: setting.pause, stop: setting.stop });
      if (result.kind === "failed") {
        progress.end();
        throw new AgentProcessError(result);
      }
      if (result.kind === "ended") end = result.end;
      else if (setting.stop?.aborted) end = { ...DEAD, status: "PAUSED", stopReason: "drained" };
      else {
        kills.push(kill ? describeKill(kill) : "from outside");
        progress.note(`kill ${kills.length}: SIGKILL ${kills.at(-1)}`);
        if (options.without.includes("supervisor")) end = DEAD;
        else writeRunFile(folder, await soFar());
      }
    }
    progress.end();
    const after = await soFar();
    writeRunFile(folder, after);
    return judge({ after, end, folder, plannedKills: plan.length });
  });
}

/** An agent that nobody started again. */
const DEAD: AgentEnd = { status: "DEAD", answer: "", steps: 0, resets: 0 };

function mainConfig(given: {
  readonly before: RunFile;
  readonly options: DemoOptions;
  readonly folder: string;
  readonly open: OpenEndpoint;
  readonly kill: Kill | undefined;
}): AgentConfig {
  const { before, options, folder, open, kill } = given;
  return {
    form: before.graph ? "graph" : "createAgent",
    endpoint: open.endpoint,
    folder,
    seed: before.seed,
    window: WINDOW,
    cap: before.kills + 2,
    waitsMs: open.isScripted ? SCRIPTED_WAITS_MS : undefined,
    kill,
    without: options.without,
  };
}

async function compareWithFullHistory(
  options: DemoOptions,
  setting: DemoSetting,
  folder: string,
  own: Endpoint | undefined,
): Promise<SideOutcome> {
  const progress = new ProgressLine(EXPECTED_STEPS, setting.out);
  progress.note("full history without Longhaul, for comparison …");
  const stop = AbortSignal.any([setting.pause, setting.stop].filter((signal) => signal !== undefined));
  return runFullHistory({ seed: options.seed, window: options.baselineWindow, folder, own, stop });
}
