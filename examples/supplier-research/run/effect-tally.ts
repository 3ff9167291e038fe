import type { EffectReport } from "@longhaul/test-kit";
import type { Catalogue } from "../world/catalogue.ts";
import { expectedEffects } from "../world/check-answer.ts";

/** What a tool's effects should be and were. */
export interface EffectTally {
  readonly tool: string;
  /** Effects of a right run. */
  readonly wanted: number;
  /** Requests that reached the world; more than done where the world de-duplicated by key. */
  readonly asked: number;
  readonly done: number;
}

/** Tool of each kind of effect, by the first word of its identity. */
const TOOLS = {
  quote: "request_quote",
  sample: "reserve_sample",
  mail: "send_summary_mail",
  order: "place_order",
} as const;

/** One line a tool, in the order of the work; a tool that must not be used is in it if it was. */
export function effectTally(catalogue: Catalogue, report: EffectReport): readonly EffectTally[] {
  const expected = expectedEffects(catalogue);
  return Object.entries(TOOLS).flatMap(([kind, tool]) => {
    const of = report.byBusiness.filter((count) => count.tool === tool);
    const tally = {
      tool,
      wanted: expected.filter((business) => business.startsWith(`${kind}:`)).length,
      asked: of.reduce((sum, { asked }) => sum + asked, 0),
      done: of.reduce((sum, { done }) => sum + done, 0),
    };
    return tally.wanted + tally.asked === 0 ? [] : [tally];
  });
}
