import type { StepSummary } from "../summary/step-summary.ts";

/** Stand-in until the summary concern renders its own. */
export function renderSummary(summary: StepSummary): string {
  const list = (title: string, items: readonly string[]) =>
    items.length === 0 ? [] : [`${title}:`, ...items.map((item) => `- ${item}`)];
  return [
    `Steps ${summary.fromStep}–${summary.toStep} (tier ${summary.tier})`,
    ...(summary.done ? [`Done: ${summary.done}`] : []),
    ...list(
      "Key outputs",
      summary.outputs.map((o) => `${o.kind}: ${o.value} [${o.source}]`),
    ),
    ...list("Problems", summary.problems),
    ...(summary.effect ? [`Effect on later steps: ${summary.effect}`] : []),
    ...list("Open", summary.open),
  ].join("\n");
}
