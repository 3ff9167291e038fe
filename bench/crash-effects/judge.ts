import type { BusinessCount } from "@longhaul/test-kit";
import type { Said } from "./child.ts";

/** A call as the run wanted it, and what came of it. */
export interface Wanted {
  readonly tool: string;
  readonly order: string;
}

export interface Verdict {
  readonly duplicates: number;
  readonly losses: number;
  /** Calls whose outcome the model was told to be unknown. */
  readonly unknown: number;
  /** What is wrong, in words. */
  readonly wrong: readonly string[];
}

const UNKNOWN = /is unknown|outcome unknown/i;

/**
 * Judges a finished run by what happened in the world and by what the model was told: each effect once; a `record` call may
 * have an outcome that nobody knows, then the model must have been told so and the effect happened at most once.
 */
export function judge(
  wanted: readonly Wanted[],
  messages: readonly Said[],
  counts: readonly BusinessCount[],
  thread: string,
): Verdict {
  const wrong = [...openCalls(messages)];
  let [duplicates, losses, unknown] = [0, 0, 0];
  for (const { tool, order } of wanted) {
    const business = `${thread}:${order}`;
    const done = counts.find((count) => count.tool === tool && count.business === business)?.done ?? 0;
    const answers = messages.filter((message) => isAbout(message, tool, order, messages));
    const isUnknown = tool === "record" && answers.some(({ text }) => UNKNOWN.test(text));
    if (done > 1) {
      duplicates += done - 1;
      wrong.push(`${tool} ${order} was done ${done} times`);
    }
    if (isUnknown) unknown += 1;
    else if (done === 0) {
      losses += 1;
      wrong.push(`${tool} ${order} was never done, and nobody said so`);
    } else if (!answers.some(({ text }) => text.includes(`${tool} did ${order}`)))
      wrong.push(
        `${tool} ${order} was done and its result never came: ${answers.map(({ text }) => text).join(" | ")}`,
      );
  }
  return { duplicates, losses, unknown, wrong };
}

/** An answer belongs to an order by its call; a subagent's answer is about all that it was to do. */
function isAbout({ answers }: Said, tool: string, order: string, messages: readonly Said[]): boolean {
  if (answers === undefined) return false;
  const call = messages.flatMap(({ calls }) => calls).find(({ id }) => id === answers);
  return call?.name === "delegate" || (call?.name === tool && call.order === order);
}

/** Each call is answered once, before the next turn. */
function openCalls(messages: readonly Said[]): string[] {
  const wrong: string[] = [];
  for (const [i, { calls }] of messages.entries()) {
    if (calls.length === 0) continue;
    const next = messages.findIndex(({ type }, n) => n > i && type !== "tool");
    const answers = messages.slice(i + 1, next < 0 ? undefined : next).map(({ answers }) => answers);
    for (const { id, name, order } of calls) {
      const given = answers.filter((one) => one === id).length;
      if (given !== 1) wrong.push(`call ${name} ${order} has ${given} answers`);
    }
  }
  return wrong;
}
