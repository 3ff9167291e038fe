import type { ScriptRequest } from "@longhaul/test-kit";
import type { AnsweredCall, Call, View } from "./view.ts";

const REFERENCE = /\blh-[0-9a-f]{16}\b/;

/** What to look for on a page of which the middle was left out. */
const SEARCHES: Readonly<Record<string, readonly string[]>> = {
  profile: ["SOC 2"],
  pricing: ["Business plan"],
  trust: ["SOC 2"],
  terms: ["24 months", "set-up fee", "Onboarding", "SOC 2"],
  quote: ["The total of quote"],
};

/** Calls of Longhaul's `recall` for pages of the last step that are shown in part; none when it is not offered. */
export function recallCalls(view: View, request: ScriptRequest): readonly Call[] {
  const tool = request.tools.find((it) => it.function.name === "recall");
  if (!tool) return [];
  const fields = Object.keys(
    (tool.function.parameters as { properties?: object } | undefined)?.properties ?? {},
  );
  const field = (...names: string[]) => names.find((name) => fields.includes(name));
  const reference = field("ref", "reference", "id");
  const search = field("search", "query", "find", "pattern");
  if (reference === undefined) return [];
  return view.lastStep.flatMap((call) => {
    const ref = REFERENCE.exec(call.result)?.[0];
    const words = SEARCHES[call.name === "read_quote" ? "quote" : String(call.args.page)];
    if (ref === undefined || words === undefined || !isCut(call)) return [];
    if (search === undefined) return [{ name: "recall", args: { [reference]: ref } }];
    return words.map((word) => ({ name: "recall", args: { [reference]: ref, [search]: word } }));
  });
}

function isCut({ name, result }: AnsweredCall): boolean {
  return (name === "read_page" || name === "read_quote") && REFERENCE.test(result);
}
