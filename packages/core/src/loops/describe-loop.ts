import { canonicalJson } from "../json/canonical-json.ts";
import type { DetectedLoop } from "./detect-loops.ts";
import type { ResolvedLoopOptions } from "./loop-options.ts";
import { type ActionInput, parsedArgs } from "./observed-action.ts";

/** What was seen, in one sentence for the model, the user and the operator. */
export function describeLoop(
  loop: DetectedLoop,
  options: ResolvedLoopOptions,
  input: ActionInput | undefined,
): string {
  const { kind, count, round } = loop;
  const tools = round.map((it) => it.tool);
  const args = tools.length === 1 && input?.tool === tools[0] ? shortArgs(input?.args) : "";
  const one = `${tools[0]}${args}`;
  switch (kind) {
    case "cycle":
      if (round.every((it) => it.kind === "nothing"))
        return `${rounds(tools, one)} came back empty ${count} times in a row.`;
      return `${rounds(tools, one)} gave the same result ${count} times in a row.`;
    case "actions":
      return `${rounds(tools, one)} was called ${count} times in a row.`;
    case "error":
      return `${one} failed with the same error in ${count} steps.`;
    case "poll": {
      const every = options.tools[tools[0] ?? ""]?.poll?.every;
      const wait = every === undefined ? "" : ` It is meant to be called every ${every} ms.`;
      return `${one} was polled ${count} times and its result did not change.${wait}`;
    }
    case "unavailable":
      return `${tools[0]} was unavailable (rate limit or outage) ${count} times in a row.`;
    case "no_progress":
      return `${count} steps in a row brought no new result, no successful change, no new fact and no finished step.`;
    case "similar":
      return `The texts of ${count} steps in a row say the same.`;
    case "chant":
      return "One answer says the same sentence over and over.";
    case "idle":
      return `${count} answers in a row held neither a call nor a result.`;
  }
}

function rounds(tools: readonly string[], one: string): string {
  return tools.length === 1 ? one : `The cycle ${tools.join(" → ")}`;
}

function shortArgs(args: unknown): string {
  try {
    const text = canonicalJson(parsedArgs(args));
    return ` ${text.length > 120 ? `${text.slice(0, 120).toWellFormed()}…` : text}`;
  } catch {
    return "";
  }
}
