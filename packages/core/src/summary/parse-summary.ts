import { type KeyOutput, OUTPUT_KINDS } from "./step-summary.ts";

/** What a summariser answered, before the audit. */
export interface SummaryDraft {
  readonly done: string;
  readonly outputs: readonly KeyOutput[];
  readonly problems: readonly string[];
  readonly effect: string;
  readonly open: readonly string[];
  /** false: plain prose, so that code has to fill the rest of the template. */
  readonly structured: boolean;
}

/**
 * Reads a summariser's answer. Lenient about the form, because small models miss it in many ways: JSON in a fence or between
 * words, a trailing comma, single texts for lists, headed sections, plain prose. Strict about the content: undefined for broken
 * JSON, missing parts, or an error message or refusal in the place of a summary.
 */
export function parseSummary(text: string): SummaryDraft | undefined {
  const trimmed = text.trim();
  const json = findJson(trimmed);
  if (json !== undefined) return fromFields(json);
  // What looks like JSON but is none is damaged, not prose.
  if (/^(?:```(?:json)?\s*)?[{[]/.test(trimmed) || /"(?:done|outputs)"\s*:/.test(trimmed)) return undefined;
  if (NO_SUMMARY.test(trimmed)) return undefined;
  return fromSections(trimmed);
}

const NO_SUMMARY =
  /^(?:<!doctype|<html|(?:[a-z_.]+\s?)?(?:error|exception)\b|traceback|(?:http[ /]*[\d.]*\s*)?[45]\d\d\b|rate limit|too many requests|unauthori[sz]ed|forbidden|timed? ?out|internal server|service unavailable|i(?:'m| am)\s+(?:sorry|unable|not able)|sorry\b|i\s+(?:can(?:no|')t|cannot|won't)|unfortunately,? i|as an ai\b|抱歉|对不起|无法|错误)/i;

function findJson(text: string): Record<string, unknown> | undefined {
  for (
    let from = text.indexOf("{"), tries = 0;
    from >= 0 && tries < 5;
    from = text.indexOf("{", from + 1), tries++
  ) {
    const to = text.lastIndexOf("}");
    if (to < from) return undefined;
    const candidate = text.slice(from, to + 1);
    for (const source of [candidate, candidate.replace(/,(\s*[}\]])/g, "$1")]) {
      try {
        const value: unknown = JSON.parse(source);
        const fields = formOf(value) ?? formOf((value as { summary?: unknown } | null)?.summary);
        if (fields) return fields;
      } catch {
        // not here; the next brace may open it
      }
    }
  }
  return undefined;
}

/** An object with fields of the form; arguments of a call that prose quotes are none. */
function formOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && ("done" in value || "outputs" in value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function fromFields(fields: Record<string, unknown>): SummaryDraft | undefined {
  const done = asText(fields.done);
  if (done === undefined || done.trim() === "") return undefined;
  if (fields.outputs !== undefined && fields.outputs !== null && !Array.isArray(fields.outputs))
    return undefined;
  return {
    done,
    outputs: ((fields.outputs as unknown[] | undefined | null) ?? []).flatMap(asOutput),
    problems: asList(fields.problems),
    effect: asText(fields.effect) ?? "",
    open: asList(fields.open),
    structured: true,
  };
}

function asText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? value.map(asText).filter(Boolean).join(" ") : undefined;
}

function asList(value: unknown): string[] {
  const items = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  return items
    .map((item) => asText(item) ?? (typeof item === "object" && item !== null ? JSON.stringify(item) : ""))
    .filter((text) => !NOTHING.test(text.trim()));
}

/** How models say that a list is empty. */
const NOTHING = /^(?:|[-–—]|n\/a|none|nothing|no problems?|no open questions?|无|没有|暂无)[.。]?$/i;

function asOutput(value: unknown): KeyOutput[] {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value).trim();
    return text === "" ? [] : [{ kind: "data", value: text, source: "" }];
  }
  if (typeof value !== "object" || value === null) return [];
  const { kind, value: inner, source } = value as Record<string, unknown>;
  const text = asText(inner) ?? (typeof inner === "object" && inner !== null ? JSON.stringify(inner) : "");
  if (text.trim() === "") return [];
  return [
    {
      kind: OUTPUT_KINDS.find((known) => known === kind) ?? "data",
      value: text.trim(),
      source: asText(source) ?? "",
    },
  ];
}

const SECTIONS: readonly (readonly [keyof Omit<SummaryDraft, "structured"> | "range", RegExp])[] = [
  ["range", /^(?:steps?|step range|步骤范围|已完成步骤摘要)$/i],
  ["done", /^(?:done|what was done|summary|做了什么|已完成|完成)$/i],
  ["outputs", /^(?:key outputs?|outputs|key results|results|关键产出|产出|结果)$/i],
  ["problems", /^(?:problems?(?: met)?|issues|errors|遇到的问题|问题)$/i],
  ["effect", /^(?:effects?(?: on later steps)?|impact|对后续步骤的影响|影响)$/i],
  ["open", /^(?:open(?: questions?| items?)?|遗留问题|待办|未决)$/i],
];

/** `Key outputs: …` and the like, one section a heading; without any heading the whole text is what was done. */
function fromSections(text: string): SummaryDraft | undefined {
  const found: Record<string, string[]> = {
    range: [],
    done: [],
    outputs: [],
    problems: [],
    effect: [],
    open: [],
  };
  let current = "done";
  for (const line of text.split("\n")) {
    const bare = line
      .replace(/^[\s#*>•-]+/, "")
      .replace(/\*\*/g, "")
      .trim();
    if (bare === "") continue;
    const heading = /^([^:：]{2,40})[:：]\s*(.*)$/.exec(bare);
    const section = heading && SECTIONS.find(([, pattern]) => pattern.test((heading[1] as string).trim()));
    if (section) {
      current = section[0];
      if (heading[2]) found[current]?.push(heading[2]);
    } else found[current]?.push(bare);
  }
  const list = (name: string) => (found[name] ?? []).filter((item) => !NOTHING.test(item));
  const done = list("done").join(" ");
  const outputs = list("outputs");
  if (done === "" && outputs.length === 0) return undefined;
  return {
    done: done || outputs.join("; "),
    outputs: outputs.flatMap(asOutput),
    problems: list("problems"),
    effect: list("effect").join(" "),
    open: list("open"),
    structured: false,
  };
}
