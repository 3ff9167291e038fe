import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LonghaulError, type LonghaulEvent } from "@longhaul/core";
import { type EffectReport, startServerProcess, ToolWorld } from "@longhaul/test-kit";
import { addCounted, type TokenCosts, tokenCosts } from "../../shared/token-costs.ts";
import { makeCatalogue } from "../world/catalogue.ts";
import { checkAnswer, effectFaults, issuedQuotes } from "../world/check-answer.ts";
import { runAgentProcess } from "./agent-child.ts";
import type { AgentConfig, AgentEnd, Endpoint } from "./agent-messages.ts";
import { databaseBytes } from "./database-size.ts";
import type { DemoOptions } from "./demo-options.ts";
import { describeKill, killPlan } from "./kill-plan.ts";
import { ProgressLine } from "./progress-line.ts";

/** Window of the agent under Longhaul, tokens. */
export const WINDOW = 32_000;
const SCRIPTED_MODEL = "scripted-model";
const EXPECTED_STEPS = 150;

/** One side of the comparison. */
export interface SideOutcome {
  readonly end: AgentEnd;
  readonly costs: TokenCosts;
  readonly databaseBytes: number;
  readonly seconds: number;
}

export interface DemoOutcome {
  readonly options: DemoOptions;
  /** Right answer, every side effect once, none missing. */
  readonly ok: boolean;
  /** Ctrl-C drained the run: it can go on from `folder`. */
  readonly paused: boolean;
  readonly answer: { readonly right: boolean; readonly reason: string };
  readonly effects: EffectReport;
  readonly effectFaults: readonly string[];
  readonly kills: readonly string[];
  /** Model calls whose answer a kill took away, so that they were made again. */
  readonly repeatedSteps: number;
  readonly longhaul: SideOutcome;
  readonly baseline?: SideOutcome | undefined;
  /** Present when it was kept. */
  readonly folder?: string | undefined;
}

/** The endpoint does not answer; nothing was started. */
export class EndpointDownError extends LonghaulError {
  readonly code = "ENDPOINT_DOWN";
  constructor(url: string, cause: unknown) {
    super(`Nothing answers at ${url}. Start the endpoint or correct BASE_URL; no run was begun.`, { cause });
  }
}

/** The agent process ended in a way that no kill explains. */
export class AgentProcessError extends LonghaulError {
  readonly code = "AGENT_PROCESS";
}

export async function runDemo(options: DemoOptions, env: NodeJS.ProcessEnv): Promise<DemoOutcome> {
  const folder = options.resume ?? mkdtempSync(join(tmpdir(), "longhaul-demo-"));
  const seed = options.resume ? savedSeed(folder) : options.seed;
  writeFileSync(join(folder, "demo.json"), JSON.stringify({ seed }));
  const own = ownEndpoint(env);
  if (own) await assertAnswers(own);
  let keep = options.keep;
  try {
    // The baseline runs first when it runs at all: it is the slower one, and the report comes right behind the main job.
    const baseline = options.baseline ? await runBaseline(options, folder, seed, own) : undefined;
    const outcome = await runMain({ ...options, seed }, folder, own);
    keep ||= outcome.paused;
    return { ...outcome, baseline, folder: keep ? folder : undefined };
  } finally {
    if (!keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function runMain(
  options: DemoOptions,
  folder: string,
  own: Endpoint | undefined,
): Promise<Omit<DemoOutcome, "baseline" | "folder">> {
  const plan = options.resume ? [] : killPlan(options.seed, options.kills);
  const progress = new ProgressLine(EXPECTED_STEPS);
  const kills: string[] = [];
  const started = performance.now();
  return withServer(own, WINDOW, async (endpoint, served) => {
    let counted: TokenCosts = { calls: 0, raw: 0, cachePriced: 0 };
    let turns = 0;
    const watch = {
      see(event: LonghaulEvent) {
        progress.see(event);
        if (event.type !== "model.call") return;
        counted = addCounted(counted, event);
        if (event.kind === "turn" || event.kind === "retry") turns++;
      },
    };
    let end: AgentEnd | undefined;
    while (!end) {
      const config: AgentConfig = {
        form: options.graph ? "graph" : "createAgent",
        endpoint,
        folder,
        seed: options.seed,
        window: WINDOW,
        cap: options.kills + 2,
        kill: plan[kills.length],
        without: options.without,
      };
      const result = await runAgentProcess(config, watch);
      if (result.kind === "ended") end = result.end;
      else if (result.kind === "failed") throw processError(result);
      else {
        const where = config.kill ? describeKill(config.kill) : "from outside";
        kills.push(where);
        progress.note(`kill ${kills.length}: SIGKILL ${where}`);
        if (options.without.includes("supervisor")) end = { status: "DEAD", answer: "", steps: 0, resets: 0 };
      }
    }
    progress.end();
    const requests = await served();
    const catalogue = makeCatalogue(options.seed);
    const world = ToolWorld.open(join(folder, "world.db"));
    const answer = checkAnswer(catalogue, end.answer, issuedQuotes(world));
    const effects = world.effects();
    world.close();
    const faults = effectFaults(catalogue, effects);
    const paused = end.status === "PAUSED" && end.stopReason === "drained";
    return {
      options,
      ok: answer.right && faults.length === 0 && end.status === "COMPLETED" && kills.length === plan.length,
      paused,
      answer,
      effects,
      effectFaults: faults,
      kills,
      repeatedSteps: Math.max(0, turns - end.steps),
      longhaul: {
        end,
        costs: requests ? tokenCosts(requests) : counted,
        databaseBytes: databaseBytes(join(folder, "longhaul.db")),
        seconds: (performance.now() - started) / 1_000,
      },
    };
  });
}

async function runBaseline(
  options: DemoOptions,
  folder: string,
  seed: number,
  own: Endpoint | undefined,
): Promise<SideOutcome> {
  const started = performance.now();
  process.stderr.write("  full history without Longhaul, for comparison …\n");
  const side = mkdtempSync(join(folder, "baseline-"));
  return withServer(own, options.baselineWindow, async (endpoint, served) => {
    const config: AgentConfig = {
      form: "baseline",
      endpoint,
      folder: side,
      seed,
      window: options.baselineWindow,
      cap: 0,
      without: [],
    };
    const result = await runAgentProcess(config, { see() {} });
    if (result.kind !== "ended") throw processError(result);
    const requests = await served();
    return {
      end: result.end,
      costs: requests ? tokenCosts(requests) : { calls: result.end.steps, raw: 0, cachePriced: 0 },
      databaseBytes: databaseBytes(join(side, "baseline.db")),
      seconds: (performance.now() - started) / 1_000,
    };
  });
}

/** Runs against the caller's endpoint, or against a scripted server of its own for the time of `work`. */
async function withServer<T>(
  own: Endpoint | undefined,
  windowTokens: number,
  work: (
    endpoint: Endpoint,
    served: () => Promise<Parameters<typeof tokenCosts>[0] | undefined>,
  ) => Promise<T>,
): Promise<T> {
  if (own) return work(own, async () => undefined);
  const module = fileURLToPath(new URL("../server.ts", import.meta.url));
  const server = await startServerProcess(module, { windowTokens });
  try {
    return await work({ baseUrl: server.url, model: SCRIPTED_MODEL, apiKey: "none" }, server.served);
  } finally {
    await server.stop();
  }
}

function ownEndpoint(env: NodeJS.ProcessEnv): Endpoint | undefined {
  const { BASE_URL, MODEL, API_KEY } = env;
  return BASE_URL && MODEL ? { baseUrl: BASE_URL, model: MODEL, apiKey: API_KEY || "none" } : undefined;
}

/** Any HTTP answer will do: what the endpoint thinks of the request is the run's business. */
async function assertAnswers(endpoint: Endpoint): Promise<void> {
  try {
    await fetch(`${endpoint.baseUrl.replace(/\/$/, "")}/models`, {
      headers: { authorization: `Bearer ${endpoint.apiKey}` },
      signal: AbortSignal.timeout(10_000),
    });
  } catch (error) {
    throw new EndpointDownError(endpoint.baseUrl, error);
  }
}

function savedSeed(folder: string): number {
  try {
    return (JSON.parse(readFileSync(join(folder, "demo.json"), "utf8")) as { seed: number }).seed;
  } catch (cause) {
    throw new NoSuchRunError(folder, cause);
  }
}

class NoSuchRunError extends LonghaulError {
  readonly code = "NO_SUCH_RUN";
  constructor(folder: string, cause: unknown) {
    super(`${folder} holds no paused demo run. Give --resume the folder that Ctrl-C printed.`, { cause });
  }
}

function processError(result: { kind: string; code?: number | null; stderr?: string }): AgentProcessError {
  return new AgentProcessError(
    result.kind === "killed"
      ? "The agent process was killed although no kill was planned."
      : `The agent process ended with code ${result.code}.\n${result.stderr ?? ""}`,
  );
}
