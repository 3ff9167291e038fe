import type { Reply, ReplyParts, ScriptRequest } from "@longhaul/test-kit";
import { rankedQuotes } from "./assess.ts";
import { findFacts, noteOf } from "./facts.ts";
import { checkpointArgs } from "./keep-memory.ts";
import { nextStep } from "./next-step.ts";
import { type Position, progressNote } from "./progress.ts";
import { recallCalls } from "./recall.ts";
import { isSummaryRequest, summarise } from "./summarise.ts";
import { type AnsweredCall, type Call, type View, viewOf } from "./view.ts";

/** The notice that asks, not the one that says that a reset was done. */
const ASKED_TO_RESET = /<longhaul-notice kind="progress">[^<]*\bcall checkpoint\b/i;
const RETRY_MARK = "Trying again.";

/**
 * The researcher's mind: a function of one request, with no memory of its own. It knows what stands in the prompt and nothing
 * else, so a context that loses a fact shows as a wrong answer.
 *
 * It writes down what it finds beside its calls, works forward only, keeps to the prohibitions that it can see, and plays its part
 * in Longhaul's protocols: the summariser, `checkpoint` and `reset` when asked, `recall` for what was cut, verifying an unknown
 * outcome, and a partial answer when its tools are gone.
 */
export function brain(request: ScriptRequest): Reply {
  if (isSummaryRequest(request)) return summarise(request);
  const view = viewOf(request);
  if (!view.tools.has("read_page")) return partialAnswer(view);
  const saved = view.lastStep.find(({ name }) => name === "checkpoint");
  const alone = !view.lastStep.some(({ name }) => name === "reset");
  if (saved && alone && !/^not saved/i.test(saved.result)) return say(view, [{ name: "reset", args: {} }]);

  const recalls = recallCalls(view, request);
  if (recalls.length > 0) return say(view, recalls);
  const failed = view.lastText.includes(RETRY_MARK) ? [] : view.lastStep.filter(hasFailed);
  if (failed.length > 0) return say(view, failed, view.position, [RETRY_MARK]);

  if (compliesNow(view)) return checkpoint(view);
  const next = nextStep(view);
  if (next.calls.length === 0) return finalAnswer(view, next.conclusions.map(noteOf));
  return say(view, next.calls, next.position, next.conclusions.map(noteOf));
}

/** A message that writes down what the last results say, where the work stands, and acts. */
function say(
  view: View,
  calls: readonly Call[],
  position: Position = view.position,
  remarks: readonly string[] = [],
): ReplyParts {
  const found = view.lastStep.flatMap(({ result }) => findFacts(result)).map(({ fact }) => noteOf(fact));
  return {
    content: [...new Set([...found, ...remarks]), progressNote(position)].join("\n"),
    toolCalls: calls.map(({ name, args }) => ({ name, args })),
  };
}

/**
 * Asked to checkpoint and reset, the brain complies while it reads the first half of the suppliers and when it deals with quotes; in
 * between it goes on, so that a run has folds too.
 */
function compliesNow(view: View): boolean {
  if (!ASKED_TO_RESET.test(view.lastHuman)) return false;
  if (!view.tools.has("checkpoint") || !view.tools.has("reset")) return false;
  if (view.lastStep.some(({ name }) => name === "checkpoint" || name === "reset")) return false;
  const share = view.position.read / (view.supplierCount * 5);
  return share < 0.5 || share >= 1;
}

/** Both in one turn at every other supplier, in two turns otherwise: either is allowed. */
function checkpoint(view: View): ReplyParts {
  const saving = { name: "checkpoint", args: checkpointArgs(view, view.position) };
  const together = Math.floor(view.position.read / 5) % 2 === 0;
  return say(view, together ? [saving, { name: "reset", args: {} }] : [saving]);
}

/** What a good result of a tool looks like; anything else (an error, a placeholder, a refusal) is tried once more. */
const GOOD: Readonly<Record<string, RegExp>> = {
  list_suppliers: /^S01 /m,
  get_exchange_rates: /1 USD = /,
  read_page: /^Page: /m,
  check_report: /report R-\d+/i,
  request_quote: /quote number Q-/,
  read_quote: /^Quote Q-/m,
  recall: /./,
};

function hasFailed({ name, result }: AnsweredCall): boolean {
  const good = GOOD[name];
  return good !== undefined && !good.test(result);
}

function finalAnswer(view: View, remarks: readonly string[]): string {
  const [best] = rankedQuotes(view);
  const mail = view.facts.has("mail") ? "" : " The summary mail could not be confirmed.";
  if (!best) return [...remarks, `FINAL: no compliant supplier was found.${mail}`].join("\n");
  const { name, id, euros, quote } = best;
  return `FINAL: ${name} (${id}) is the cheapest at ${euros.toFixed(2)} EUR in the first year, quote ${quote}.${mail}`;
}

/** Tools are withheld: the run is being wound up. */
function partialAnswer(view: View): string {
  const [best] = rankedQuotes(view);
  const so = best
    ? `Best so far: ${best.name} at ${best.euros.toFixed(2)} EUR, quote ${best.quote}.`
    : "No quote yet.";
  return `PARTIAL: the work is not finished. ${so} ${progressNote(view.position)}`;
}
