import { addCosts, NO_COSTS, type TokenCosts } from "../shared/token-costs.ts";
import { type Availability, addAvailability, NO_VALUES } from "./availability.ts";
import type { ChainOutcome } from "./replay-chain.ts";

/** One line for a chain. */
export function chainLine(outcome: ChainOutcome, index: number, count: number): string {
  const { runs, steps, folds, longhaul, full, availability, failure } = outcome;
  const parts = [
    `${runs} ${runs === 1 ? "run" : "runs"}`,
    `${steps} steps`,
    `${folds} folds`,
    `raw ${ratio(longhaul.raw, full.raw)}`,
    `cache-priced ${ratio(longhaul.cachePriced, full.cachePriced)}`,
    `visible ${percent(availability.visible, availability.values)}`,
  ];
  return `chain ${index + 1}/${count}: ${parts.join(", ")}${failure === undefined ? "" : `; FAILED: ${failure}`}`;
}

/** The whole, pooled: sums of tokens and of values over all chains, then their ratio. */
export function renderReplayReport(outcomes: readonly ChainOutcome[]): string {
  const sum = (key: "runs" | "steps" | "folds" | "violations") =>
    outcomes.reduce((total, outcome) => total + outcome[key], 0);
  const costs = (key: "longhaul" | "full") =>
    outcomes.reduce((total, outcome) => addCosts(total, outcome[key]), NO_COSTS);
  const found = outcomes.reduce((all, outcome) => addAvailability(all, outcome.availability), NO_VALUES);
  const failed = outcomes.filter((outcome) => outcome.failure !== undefined).length;
  const fewest = Math.min(...outcomes.map((outcome) => outcome.folds));
  const rows: readonly (readonly [string, string])[] = [
    ["runs", `${sum("runs")} in ${outcomes.length} ${outcomes.length === 1 ? "thread" : "threads"}`],
    ["steps", String(sum("steps"))],
    ["folds", `${sum("folds")}, at least ${fewest} a thread`],
    ...costRows(costs("longhaul"), costs("full")),
    ...availabilityRows(found),
    ["strict rules broken", String(sum("violations"))],
    ...(failed === 0 ? [] : [["threads that failed", `${failed} of ${outcomes.length}`] as const]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join("\n");
}

function costRows(longhaul: TokenCosts, full: TokenCosts): (readonly [string, string])[] {
  const row = (mine: number, other: number) =>
    `${count(mine)}, full history ${count(other)}: ${ratio(mine, other)}`;
  return [
    ["prompt tokens raw", row(longhaul.raw, full.raw)],
    ["  cache-priced", row(longhaul.cachePriced, full.cachePriced)],
  ];
}

function availabilityRows(found: Availability): (readonly [string, string])[] {
  const share = (part: number) => `${percent(part, found.values)} (${part})`;
  return [
    ["argument values", `${found.values} that stood verbatim in an earlier message of the thread`],
    ["  visible", `${share(found.visible)}, ${found.byRecord} of them in Longhaul's record alone`],
    ["  one recall away", share(found.recallable)],
    ["  neither", share(found.lost)],
  ];
}

function ratio(mine: number, other: number): string {
  return other === 0 ? "–" : (mine / other).toFixed(3);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)} %`;
}

function count(tokens: number): string {
  return Math.round(tokens).toLocaleString("en-US");
}
