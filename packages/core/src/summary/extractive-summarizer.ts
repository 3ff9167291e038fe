import type { MessageGroup } from "../messages/groups.ts";
import { fence } from "../messages/notices.ts";
import { cleanProse } from "./clean-prose.ts";
import { fitSummary, type SummaryLimits } from "./fit-summary.ts";
import { digestGroups } from "./group-digest.ts";
import { type CallFacts, type GroupFacts, readGroup } from "./group-facts.ts";
import type { Identifier } from "./identifiers.ts";
import { recordFields } from "./record-fields.ts";
import { resultIdentifiers } from "./source-text.ts";
import type { KeyOutput, StepSummary } from "./step-summary.ts";
import { cutLine } from "./text-size.ts";

const DEFAULT_LIMITS: SummaryLimits = { maxWords: 300, maxOutputs: 20 };

/**
 * Fills the summary template from calls, results and errors alone: no model, no network, the same bytes every time. What it
 * says is taken from the groups, in their language. Cost: linear in the groups' text.
 *
 * - done: the calls by tool with their telling arguments, then the last thing the assistant said
 * - outputs: fields of JSON results that name or measure something, short results whole, identifiers of longer ones, answers
 * - problems: failed calls, each once with its count
 * - open: calls without a result, a question to the user without an answer, failures that nothing made good
 */
export function summariseExtractively(
  groups: readonly MessageGroup[],
  limits: SummaryLimits = DEFAULT_LIMITS,
): StepSummary {
  const facts = groups.map(readGroup);
  const steps = facts.flatMap((group) => (group.step === undefined ? [] : [group.step]));
  return fitSummary(
    {
      v: 1,
      tier: 1,
      fromStep: steps[0] ?? 0,
      toStep: steps.at(-1) ?? 0,
      done: safe(doneOf(facts)),
      outputs: outputsOf(groups, limits.maxOutputs),
      problems: problemsOf(facts).map(safe).filter(Boolean),
      effect: "",
      open: openOf(facts).map(safe).filter(Boolean),
      by: "extractive",
      digest: digestGroups(groups),
    },
    limits,
  ).summary;
}

/** Text of tools and of the assistant, so that it cannot close a fence or command a reader. */
function safe(text: string): string {
  return cleanProse(text, "").text;
}

function doneOf(facts: readonly GroupFacts[]): string {
  const byTool = new Map<string, { count: number; args: Set<string> }>();
  for (const call of facts.flatMap((group) => group.calls)) {
    const entry = byTool.get(call.name) ?? { count: 0, args: new Set<string>() };
    byTool.set(call.name, entry);
    entry.count++;
    const told = tellingArgs(call);
    if (told) entry.args.add(told);
  }
  const calls = [...byTool].map(([name, { count, args }]) => {
    const shown = [...args].slice(0, 3);
    const more = args.size > shown.length ? ", …" : "";
    return `${name}${count > 1 ? ` ×${count}` : ""}${shown.length > 0 ? ` (${shown.join("; ")}${more})` : ""}`;
  });
  const last = facts.findLast((group) => group.kind === "step" && group.said !== "");
  return [calls.join(", "), last && cutLine(last.said, 160)].filter(Boolean).join(". ");
}

/** The arguments that tell one call from another: short texts and numbers. */
function tellingArgs(call: CallFacts): string {
  const shown = Object.entries(call.args ?? {})
    .filter(
      ([name, value]) =>
        (typeof value === "string" || typeof value === "number") && call.argsText.includes(name),
    )
    .map(([, value]) => String(value))
    // An argument that was redacted in the call's text stays out here too.
    .filter(
      (value) =>
        value !== "" && value.length <= 80 && call.argsText.includes(JSON.stringify(value).slice(1, -1)),
    );
  return cutLine(shown.slice(0, 2).join(", "), 100);
}

const SHORT_RESULT = 120;

/** Answers among the outputs: the newest few, the rest is talk on the way. */
const MOST_ANSWERS = 2;

function outputsOf(groups: readonly MessageGroup[], maxOutputs: number): KeyOutput[] {
  const outputs = new Map<string, KeyOutput>();
  const add = (output: KeyOutput): void => {
    const value = fence(output.value);
    // The newest source of a value stands, and its place in the order with it.
    outputs.delete(value);
    outputs.set(value, { ...output, value });
  };
  const answers = groups
    .filter((group) => {
      const { calls, said } = readGroup(group);
      return group.kind === "step" && calls.length === 0 && said !== "" && !isQuestion(said);
    })
    .slice(-MOST_ANSWERS);
  for (const group of groups) {
    const facts = readGroup(group);
    for (const call of facts.calls) {
      if (call.result === undefined || call.failed) continue;
      for (const output of resultOutputs(group, call, `${call.name}, step ${group.step ?? "?"}`)) add(output);
    }
    const answer = answers.includes(group) ? safe(cutLine(facts.said, 160)) : "";
    if (answer) add({ kind: "conclusion", value: answer, source: `assistant, step ${group.step ?? "?"}` });
  }
  return fairShare([...outputs.values()], maxOutputs);
}

function resultOutputs(group: MessageGroup, call: CallFacts, source: string): KeyOutput[] {
  const text = call.result as string;
  if (call.json !== undefined) {
    const fields = recordFields(call.json);
    if (fields.length > 0) return fields.map((value) => ({ kind: "data", value, source }));
  }
  const line = text.trim();
  if (line !== "" && line.length <= SHORT_RESULT && !line.includes("\n")) {
    const only = resultIdentifiers(group, text);
    const whole = only.length === 1 && only[0]?.text === line ? kindOfOutput(only[0]) : "data";
    return [{ kind: whole, value: line, source }];
  }
  const head = text.slice(0, 4_000);
  const pairs = [
    ...head.matchAll(/^[ \t]*(?:[-*][ \t]+)?([\p{L}][\p{L}\p{N} _.-]{0,30}[:=][ \t]+\S[^\n]{0,80})$/gmu),
  ].map((match) => (match[1] as string).trim());
  const values = pairs.slice(0, 5).map((value): KeyOutput => ({ kind: "data", value, source }));
  const named = resultIdentifiers(group, text)
    .filter(({ text: name, kind }) => kind !== "name" && !values.some(({ value }) => value.includes(name)))
    .slice(0, 6 - values.length)
    .map((identifier): KeyOutput => ({ kind: kindOfOutput(identifier), value: identifier.text, source }));
  return [...values, ...named];
}

function kindOfOutput({ kind }: Identifier): KeyOutput["kind"] {
  if (kind === "url" || kind === "path") return kind;
  return kind === "uuid" || kind === "hash" || kind === "id" || kind === "host" || kind === "email"
    ? "id"
    : "data";
}

/** At most so many, the newest of each source first: one talkative result must not push the others out. */
function fairShare(outputs: readonly KeyOutput[], max: number): KeyOutput[] {
  if (outputs.length <= max) return [...outputs];
  const bySource = groupBySource(outputs);
  const queues = [...bySource.values()].reverse();
  const chosen = new Set<KeyOutput>();
  for (let i = 0; chosen.size < max; i++) {
    for (const queue of queues) {
      const output = queue[i];
      if (output && chosen.size < max) chosen.add(output);
    }
  }
  return outputs.filter((output) => chosen.has(output));
}

function groupBySource(outputs: readonly KeyOutput[]): Map<string, KeyOutput[]> {
  const groups = new Map<string, KeyOutput[]>();
  for (const output of outputs) {
    const queue = groups.get(output.source);
    if (queue) queue.push(output);
    else groups.set(output.source, [output]);
  }
  return groups;
}

function problemsOf(facts: readonly GroupFacts[]): string[] {
  const problems = new Map<string, number>();
  for (const call of facts.flatMap((group) => group.calls)) {
    if (!call.failed) continue;
    const text = `${call.name}: ${cutLine(call.result ?? "", 160)}`;
    problems.set(text, (problems.get(text) ?? 0) + 1);
  }
  return [...problems].slice(-8).map(([text, count]) => (count > 1 ? `${text} (×${count})` : text));
}

function openOf(facts: readonly GroupFacts[]): string[] {
  const open: string[] = [];
  const failed = new Map<string, string>();
  for (const group of facts) {
    for (const call of group.calls) {
      const shown = `${call.name}(${cutLine(call.argsText, 80)})`;
      if (call.result === undefined) open.push(`no result: ${shown}`);
      else if (call.failed) failed.set(call.name, `not done: ${shown}`);
      else failed.delete(call.name);
    }
  }
  return [...open, ...failed.values(), ...unansweredQuestion(facts)].slice(-6);
}

/** What the assistant asked the user last, when these groups hold no answer: a consent that was not given. */
export function unansweredQuestion(facts: readonly GroupFacts[]): string[] {
  const at = facts.findLastIndex((group) => group.kind === "step" && group.said !== "");
  const asked = facts[at];
  if (!asked || asked.calls.length > 0 || !isQuestion(asked.said)) return [];
  if (facts.slice(at + 1).some((group) => group.kind === "human")) return [];
  return [`asked the user, no answer yet: ${cutLine(asked.said.slice(-300), 200)}`];
}

function isQuestion(text: string): boolean {
  return /[?？؟][\s"'”’)）」*]*$/.test(text.slice(-20));
}
