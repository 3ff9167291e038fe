import type { MessageGroup } from "../messages/groups.ts";
import { fence } from "../messages/notices.ts";
import { checkIdentifier, containsWhole, KnownText, replaceWhole } from "./check-identifier.ts";
import { cleanProse } from "./clean-prose.ts";
import { scanIdentifiers } from "./identifiers.ts";
import { looksLikeSecret, redactSecrets } from "./secrets.ts";
import { selectIdentifiers } from "./select-identifiers.ts";
import { type IndexEntry, readSource, type SourceText } from "./source-text.ts";
import { type KeyOutput, renderSummary, type StepSummary } from "./step-summary.ts";
import { countWords, cutLine } from "./text-size.ts";

export interface AuditOptions {
  /** Texts that a summary may quote besides its groups: the goal, earlier summaries. @default none */
  readonly alsoKnown?: readonly string[] | undefined;
  /** Identifiers that the index holds already. @default none */
  readonly indexed?: readonly string[] | undefined;
  /** See `SummaryOptions.isEffect`. @default no tool */
  readonly isEffect?: ((toolName: string) => boolean) | undefined;
  /** Most identifiers in `missing`. @default 100 */
  readonly maxIdentifiers?: number | undefined;
  /** Sentences of the summariser's instructions; they do not belong in a summary. @default none */
  readonly instructions?: string | undefined;
}

export interface SummaryAudit {
  /** The summary with what is wrong struck or put right. */
  readonly summary: StepSummary;
  /** Identifiers of the groups that are neither in the summary nor in the index, oldest first: they go to the index. */
  readonly missing: readonly IndexEntry[];
  /** How many more there were beyond `maxIdentifiers`. */
  readonly left: number;
  /** Identifiers that are not in the source and were taken out. */
  readonly struck: readonly string[];
  /** Identifiers that a slip had altered, and what they were put right to. */
  readonly repaired: readonly { readonly from: string; readonly to: string }[];
  /** One line for each change, for people. */
  readonly reasons: readonly string[];
  /** The summary must not replace its groups: it says too little (`collapsed`) or more than they do (`grew`). */
  readonly refused?: "collapsed" | "grew" | undefined;
}

const STRUCK = "[unverified]";

/**
 * Checks a summary against the groups that it is to replace. Identifiers are kept by this, not by the model's good will: one
 * that is not in the source is struck, or put right when it is a slip of exactly one of the source's; those that the summary
 * lacks are listed for the index; credentials go nowhere; text that could close a fence or command the reader is
 * neutralised. Pure and deterministic. Cost: linear in the groups' text times the identifiers of the summary (few).
 */
export function auditSummary(
  summary: StepSummary,
  groups: readonly MessageGroup[],
  options: AuditOptions = {},
): SummaryAudit {
  const source = readSource(groups, options.isEffect);
  const changes = new Changes(source, new KnownText([source.text, ...(options.alsoKnown ?? [])].join("\n")));
  const open: string[] = [];
  const prose = (text: string): string => {
    const clean = cleanProse(text, options.instructions ?? "");
    changes.reasons.push(...clean.reasons);
    open.push(...clean.suggestions);
    return changes.checked(clean.text);
  };
  const audited: StepSummary = {
    ...summary,
    done: prose(summary.done),
    outputs: uniqueOutputs(summary.outputs.flatMap((output) => changes.output(output))),
    problems: summary.problems.map(prose).filter((text) => text !== ""),
    effect: prose(summary.effect),
    open: summary.open.map(prose).filter((text) => text !== ""),
  };
  const whole =
    open.length === 0
      ? audited
      : { ...audited, open: [...audited.open, ...open.map((text) => changes.checked(text))] };
  const selected = selectIdentifiers(
    source.identifiers,
    renderSummary(whole),
    options.indexed ?? [],
    options.maxIdentifiers ?? 100,
  );
  const refused = refusal(whole, source.text);
  return {
    summary: whole,
    missing: selected.entries,
    left: selected.left,
    struck: [...changes.struck],
    repaired: [...changes.repaired].map(([from, to]) => ({ from, to })),
    reasons: changes.reasons,
    ...(refused ? { refused } : {}),
  };
}

/** Collects what is changed while the parts of a summary are checked. */
class Changes {
  readonly struck = new Set<string>();
  readonly repaired = new Map<string, string>();
  readonly reasons: string[] = [];
  readonly #source: SourceText;
  readonly #known: KnownText;

  constructor(source: SourceText, known: KnownText) {
    this.#source = source;
    this.#known = known;
  }

  /** Running text with its identifiers checked one by one. */
  checked(text: string): string {
    let result = text;
    // Longest first: a part of an identifier that was dealt with must not be dealt with again.
    for (const identifier of [...scanIdentifiers(text)].sort((a, b) => b.text.length - a.text.length)) {
      if (!containsWhole(result, identifier.text)) continue;
      const verdict = checkIdentifier(identifier, this.#known, this.#source.identifiers);
      if (verdict.known) continue;
      this.#note(identifier.text, verdict.repair);
      result = replaceWhole(result, identifier.text, verdict.repair ?? STRUCK);
    }
    return result;
  }

  output(output: KeyOutput): KeyOutput[] {
    const value = fence(redactSecrets(oneLine(output.value)));
    if (value === "") return [];
    const given = cutLine(fence(redactSecrets(oneLine(output.source))), 80);
    const at = (text: string): string => this.#source.locate(text) ?? given;
    if (output.kind === "conclusion") {
      const clean = cleanProse(value, "");
      const text = this.checked(clean.text);
      return text === "" ? [] : [{ kind: "conclusion", value: text, source: this.checked(at(value)) }];
    }
    if (containsWhole(this.#known.text, value)) return [{ ...output, value, source: at(value) }];
    if (looksLikeSecret(output.value)) {
      this.reasons.push("a credential was taken out");
      return [];
    }
    if (output.kind === "data") {
      const text = this.checked(value);
      // What is not in the source word for word is a reading of it, not an exact value.
      return text.replaceAll(STRUCK, "").trim() === ""
        ? []
        : [{ kind: isComposed(text) ? "data" : "conclusion", value: text, source: at(text) }];
    }
    const kind = output.kind === "id" ? "id" : output.kind;
    const verdict = checkIdentifier({ text: value, kind }, this.#known, this.#source.identifiers);
    if (verdict.known) return [{ ...output, value, source: at(value) }];
    const inside = scanIdentifiers(value).filter((part) => part.text !== value);
    if (verdict.repair === undefined && inside.some((part) => containsWhole(this.#known.text, part.text))) {
      return [{ kind: "data", value: this.checked(value), source: at(inside[0]?.text ?? value) }];
    }
    this.#note(value, verdict.repair);
    return verdict.repair === undefined
      ? []
      : [{ ...output, value: verdict.repair, source: at(verdict.repair) }];
  }

  #note(text: string, repair: string | undefined): void {
    if (repair === undefined) {
      this.struck.add(text);
      this.reasons.push(`${text} is not in the source: struck`);
    } else {
      this.repaired.set(text, repair);
      this.reasons.push(`${text} is not in the source: put right to ${repair}`);
    }
  }
}

/** `name=value` pairs taken from fields are exact, though no result holds them in this form. */
function isComposed(text: string): boolean {
  return /^[^=]{1,60}=\S/.test(text) && !text.includes(STRUCK);
}

function uniqueOutputs(outputs: readonly KeyOutput[]): KeyOutput[] {
  const seen = new Set<string>();
  return outputs.filter(({ value }) => !seen.has(value) && seen.add(value));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().toWellFormed();
}

/** Below this the groups are so small that any filled template is longer than they are. */
const SMALL_SOURCE_WORDS = 150;

function refusal(summary: StepSummary, source: string): "collapsed" | "grew" | undefined {
  const said = [
    summary.done,
    summary.effect,
    ...summary.outputs.map(({ value }) => value),
    ...summary.problems,
    ...summary.open,
  ];
  const words = countWords(said.join(" ").replaceAll(STRUCK, ""));
  const sourceWords = countWords(source);
  if (sourceWords > SMALL_SOURCE_WORDS && words < Math.min(8, Math.max(3, sourceWords / 100)))
    return "collapsed";
  if (words === 0 && sourceWords > 0) return "collapsed";
  return words > Math.max(sourceWords, SMALL_SOURCE_WORDS) ? "grew" : undefined;
}
