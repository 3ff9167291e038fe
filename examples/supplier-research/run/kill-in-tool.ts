import type { StructuredToolInterface } from "@langchain/core/tools";
import { crashNow } from "@longhaul/test-kit";
import type { Kill } from "./kill-plan.ts";

/**
 * Makes the process die in the body of a tool. Without a ledger there are no ledger points to die at; then a planned K1 or K2
 * dies before the effect and K3, K4 or K5 right behind it, which is the same moment in the world.
 */
export function killInTool(
  tools: readonly StructuredToolInterface[],
  kill: Kill | undefined,
  isGuarded: boolean,
): StructuredToolInterface[] {
  if (!kill || (kill.kind === "ledger" && isGuarded)) return [...tools];
  const name = kill.kind === "tool" ? kill.tool : kill.plan.tool;
  const nth = kill.kind === "tool" ? kill.nth : (kill.plan.nth ?? 1);
  const isAfter = kill.kind === "ledger" && kill.plan.at > "K2";
  let calls = 0;
  for (const tool of tools) {
    if (tool.name !== name) continue;
    const body = tool as unknown as { func: (...args: unknown[]) => Promise<unknown> };
    const func = body.func.bind(tool);
    body.func = async (...args) => {
      const isDue = ++calls === nth;
      if (isDue && !isAfter) crashNow();
      const result = await func(...args);
      if (isDue && isAfter) crashNow();
      return result;
    };
  }
  return [...tools];
}
