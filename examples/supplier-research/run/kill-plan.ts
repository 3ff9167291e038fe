import { type CrashPlan, seededRandom } from "@longhaul/test-kit";

/** One death of the agent process: at a named point of the effect ledger, or in the body of a tool. */
export type Kill =
  | { readonly kind: "ledger"; readonly plan: CrashPlan }
  /** In the body of the n-th call of a tool in this process, before it does its work. */
  | { readonly kind: "tool"; readonly tool: string; readonly nth: number };

/**
 * Where the agent process dies, one entry a process, in order. Seeded. The early ones fall in the middle of tool calls: pages
 * being read, quotes requested with a key (at every point of the ledger), samples reserved (which can be looked up). The last two
 * hit the mail that can only be recorded: before its claim (K1), and behind its record (K4) or the checkpoint after it (K5).
 * K2 and K3 of such a mail end as a reported unknown, never as a silent second mail: a test of its own shows it.
 */
export function killPlan(seed: number, kills: number): readonly Kill[] {
  if (kills === 0) return [];
  const random = seededRandom(seed * 7_919 + kills);
  const upTo = (n: number) => 1 + Math.floor(random() * n);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const plans: Kill[] = [{ kind: "tool", tool: "read_page", nth: 5 + upTo(25) }];
  const middle: readonly (() => Kill)[] = [
    () => ({ kind: "tool", tool: "read_page", nth: upTo(8) }),
    () => ({
      kind: "ledger",
      plan: { at: pick(["K1", "K2", "K3", "K4", "K5"]), tool: "request_quote", nth: upTo(2) },
    }),
    () => ({
      kind: "ledger",
      plan: { at: pick(["K1", "K2", "K3", "K4", "K5"]), tool: "reserve_sample", nth: 1 },
    }),
  ];
  // In the order in which the work reaches the tools, so that each kill still lies ahead when its process starts.
  const chosen = Array.from({ length: kills - 3 }, () => Math.floor(random() * middle.length)).sort();
  plans.push(...chosen.map((i) => (middle[i] as () => Kill)()));
  plans.push({ kind: "ledger", plan: { at: "K1", tool: "send_summary_mail" } });
  plans.push({ kind: "ledger", plan: { at: pick(["K4", "K5"]), tool: "send_summary_mail" } });
  return plans;
}

export function describeKill(kill: Kill): string {
  if (kill.kind === "tool") return `in ${kill.tool}`;
  return `${kill.plan.at} of ${kill.plan.tool ?? "any tool"}`;
}
