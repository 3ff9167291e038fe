import { type CrashPlan, seededRandom } from "@longhaul/test-kit";
import { shuffle } from "../world/catalogue.ts";

/** One death of the agent process: at a named point of the effect ledger, or in the body of a tool. */
export type Kill =
  | { readonly kind: "ledger"; readonly plan: CrashPlan }
  /** In the body of the n-th call of a tool in this process, before it does its work. */
  | { readonly kind: "tool"; readonly tool: string; readonly nth: number };

/** Pages that are surely still to be read behind the first kill; each later one takes its share. */
const PAGES_LEFT = 60;
/** What the work has room for: each of these kills may use up one or two of its calls. */
const MOST_QUOTE_KILLS = 3;
const MOST_SAMPLE_KILLS = 2;

/**
 * Where the agent process dies, one entry a process, in order. Seeded. At least three fall in the middle of tool calls: a page being
 * read, the mail that can only be recorded, and with a fourth kill also quotes requested with a key and samples that can be
 * looked up, at every point of the ledger. The last two hit the mail: before its claim (K1), then behind its record (K4) or the
 * checkpoint after it (K5). K2 and K3 of such a mail end as a reported unknown, never as a silent second mail: a test of its
 * own shows it.
 */
export function killPlan(seed: number, kills: number): readonly Kill[] {
  if (kills === 0) return [];
  const random = seededRandom(seed * 7_919 + kills);
  const upTo = (n: number) => 1 + Math.floor(random() * n);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const ledger = (at: CrashPlan["at"], tool: string, nth = 1): Kill => ({
    kind: "ledger",
    plan: { at, tool, nth },
  });
  const more = kills - 3;
  const room = [
    ...Array<string>(MOST_QUOTE_KILLS).fill("request_quote"),
    ...Array<string>(MOST_SAMPLE_KILLS).fill("reserve_sample"),
  ];
  const deep = more === 0 ? [] : shuffle(room, random).slice(0, upTo(Math.min(more, room.length)));
  const reads = more - deep.length;
  // In the order in which the work reaches the tools, so that each kill still lies ahead when its process starts.
  const plans: Kill[] = [{ kind: "tool", tool: "read_page", nth: 5 + upTo(25) }];
  for (let i = 0; i < reads; i++) {
    plans.push({ kind: "tool", tool: "read_page", nth: upTo(Math.min(8, Math.floor(PAGES_LEFT / reads))) });
  }
  for (const tool of deep.sort()) {
    const at = pick(["K1", "K2", "K3", "K4", "K5"] as const);
    plans.push(ledger(at, tool, tool === "request_quote" ? upTo(2) : 1));
  }
  plans.push(ledger("K1", "send_summary_mail"));
  const canSpareOne = plans.filter(isInToolCall).length >= 3;
  plans.push(ledger(canSpareOne ? pick(["K4", "K5"] as const) : "K4", "send_summary_mail"));
  return plans;
}

/** Whether it falls in the middle of a tool call: all do, except the one behind the checkpoint that follows (K5). */
export function isInToolCall(kill: Kill): boolean {
  return kill.kind === "tool" || kill.plan.at !== "K5";
}

export function describeKill(kill: Kill): string {
  if (kill.kind === "tool") return `in ${kill.tool}`;
  return `${kill.plan.at} of ${kill.plan.tool ?? "any tool"}`;
}
