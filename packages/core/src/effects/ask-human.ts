import { interrupt, isGraphBubbleUp } from "@langchain/langgraph";
import type { EffectAnswer } from "../tools/tool-options.ts";
import { type GuardedCall, taskOf } from "./call-site.ts";
import type { EffectRecord } from "./effect-record.ts";

/** Value of the interrupt; resume with `"done"`, `"absent"`, `"unknown"`, or `{ outcome, result? }`. */
export interface EffectQuestion {
  readonly type: "longhaul.effect_unknown";
  readonly tool: string;
  readonly key: string;
  readonly args: unknown;
  readonly reason: string;
  /** Milliseconds since 1970 of the first try. */
  readonly since: number;
}

/**
 * LangGraph hands the answers of a task out by position, from the first, each time the task runs. Those that the guard has used
 * must be taken again first, or the tool's own question would get them.
 */
export function burnAnswers(call: GuardedCall, record: EffectRecord): number {
  const { asked } = record;
  if (!asked || asked.task !== taskOf(call.config)) return 0;
  for (let i = 0; i < asked.count; i++) interrupt(null);
  return asked.count;
}

/** Asks; throws the interrupt, or returns the answer with the count to record. Undefined outside a graph that can pause. */
export function askHuman(
  call: GuardedCall,
  key: string,
  record: EffectRecord,
  earlier: number,
): { readonly answer: EffectAnswer; readonly asked: EffectRecord["asked"] } | undefined {
  const question: EffectQuestion = {
    type: "longhaul.effect_unknown",
    tool: call.traits.name,
    key,
    args: call.args,
    reason: record.reason ?? "no outcome was recorded",
    since: record.createdAt,
  };
  let said: unknown;
  try {
    said = interrupt(question);
  } catch (error) {
    if (isGraphBubbleUp(error)) throw error;
    return undefined;
  }
  const task = taskOf(call.config);
  return { answer: readAnswer(said), asked: task === undefined ? undefined : { task, count: earlier + 1 } };
}

/** Anything that is no clear answer leaves the outcome unknown. */
function readAnswer(said: unknown): EffectAnswer {
  const outcome =
    typeof said === "string" ? said : (said as { outcome?: unknown } | null | undefined)?.outcome;
  if (outcome === "absent") return { outcome };
  if (outcome === "done") return { outcome, result: (said as { result?: never }).result };
  return { outcome: "unknown" };
}
