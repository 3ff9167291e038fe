import { join } from "node:path";
import { type EffectReport, ToolWorld } from "@longhaul/test-kit";
import type { TokenCosts } from "../../shared/token-costs.ts";
import { makeCatalogue } from "../world/catalogue.ts";
import { type AnswerVerdict, checkAnswer, effectFaults, issuedQuotes } from "../world/check-answer.ts";
import type { AgentEnd } from "./agent-messages.ts";
import { databaseBytes } from "./database-size.ts";
import { type EffectTally, effectTally } from "./effect-tally.ts";
import type { RunFile } from "./run-file.ts";

/** One side of the comparison. */
export interface SideOutcome {
  readonly end: AgentEnd;
  readonly costs: TokenCosts;
  readonly databaseBytes: number;
  readonly seconds: number;
}

export interface DemoOutcome {
  readonly seed: number;
  readonly graph: boolean;
  /** Right answer, every side effect once, none missing, every planned kill survived. */
  readonly ok: boolean;
  /** Ctrl-C paused the run: it can go on from `folder`. */
  readonly paused: boolean;
  readonly answer: AnswerVerdict;
  readonly effects: EffectReport;
  readonly tally: readonly EffectTally[];
  readonly effectFaults: readonly string[];
  readonly kills: readonly string[];
  readonly plannedKills: number;
  /** Model turns whose answer a kill took away, so that they were made again. */
  readonly repeatedTurns: number;
  readonly longhaul: SideOutcome;
  readonly baseline?: SideOutcome | undefined;
  /** Present when it was kept. */
  readonly folder?: string | undefined;
}

/** Judges a finished or paused run by what stands in its folder. */
export function judge(run: {
  readonly after: RunFile;
  readonly end: AgentEnd;
  readonly folder: string;
  readonly plannedKills: number;
}): DemoOutcome {
  const { after, end, folder, plannedKills } = run;
  const catalogue = makeCatalogue(after.seed);
  const world = ToolWorld.open(join(folder, "world.db"));
  try {
    const answer = checkAnswer(catalogue, end.answer, issuedQuotes(world));
    const effects = world.effects();
    const faults = effectFaults(catalogue, effects);
    const kills = after.survived;
    const isWhole = end.status === "COMPLETED" && kills.length >= plannedKills;
    return {
      seed: after.seed,
      graph: after.graph,
      ok: answer.right && faults.length === 0 && isWhole,
      paused: end.status === "PAUSED" && end.stopReason === "drained",
      answer,
      effects,
      tally: effectTally(catalogue, effects),
      effectFaults: faults,
      kills,
      plannedKills,
      repeatedTurns: Math.max(0, after.turns - end.steps),
      longhaul: {
        end,
        costs: after.costs,
        databaseBytes: databaseBytes(join(folder, "longhaul.db")),
        seconds: after.seconds,
      },
      baseline: after.baseline,
    };
  } finally {
    world.close();
  }
}
