import type { MemoryState } from "../context/memory-state.ts";
import type { MessageGroup } from "../messages/groups.ts";
import { readGroup } from "./group-facts.ts";
import { type Identifier, scanIdentifiers } from "./identifiers.ts";

export type IndexEntry = MemoryState["identifiers"][number];

/** An identifier of the groups and where it stands. */
export interface SourceIdentifier extends Identifier {
  readonly step: number;
  readonly from: IndexEntry["from"];
  /** Tool and step, or `user`. */
  readonly source: string;
}

/** What a summary is checked against. */
export interface SourceText {
  /** Everything that the groups say. */
  readonly text: string;
  readonly identifiers: readonly SourceIdentifier[];
  /** Where a value stands, as the `source` of an output. */
  readonly locate: (value: string) => string | undefined;
}

/** Of a longer text the head and the tail are scanned; the rest can be recalled. */
const SCAN_HEAD = 24_000;
const SCAN_TAIL = 8_000;

/**
 * @param isEffect which tools change the world: the arguments of their successful calls are kept before others.
 */
export function readSource(
  groups: readonly MessageGroup[],
  isEffect: (toolName: string) => boolean = () => false,
): SourceText {
  const parts: { text: string; source: string }[] = [];
  const identifiers: SourceIdentifier[] = [];
  const take = (text: string, step: number, from: IndexEntry["from"], source: string): void => {
    if (text === "") return;
    parts.push({ text, source });
    for (const identifier of scanLong(text)) identifiers.push({ ...identifier, step, from, source });
  };
  let step = groups.find((group) => group.step !== undefined)?.step ?? 0;
  for (const group of groups) {
    const facts = readGroup(group);
    step = facts.step ?? step;
    if (group.kind === "human") take(facts.said, step, "human", "user");
    else take(facts.said, step, "args", `assistant, step ${step}`);
    for (const call of facts.calls) {
      const source = `${call.name}, step ${step}`;
      const done = call.result !== undefined && !call.failed && isEffect(call.name);
      parts.push({ text: call.name, source });
      take(call.argsText, step, done ? "effect" : "args", source);
      take(call.result ?? "", step, "result", source);
    }
  }
  // JSON escapes in arguments and results hide values; the unescaped form counts as said too.
  for (const part of [...parts]) {
    if (part.text.includes("\\")) {
      parts.push({ ...part, text: part.text.replace(/\\(["\\/])/g, "$1").replace(/\\n/g, "\n") });
    }
  }
  return {
    text: parts.map((part) => part.text).join("\n"),
    identifiers,
    locate: (value) => parts.findLast((part) => part.text.includes(value))?.source,
  };
}

function scanLong(text: string): readonly Identifier[] {
  if (text.length <= SCAN_HEAD + SCAN_TAIL) return scanIdentifiers(text);
  // Cut at white space, so that no half identifier is taken for a whole one.
  const head = text.slice(0, SCAN_HEAD).replace(/\S{0,500}$/, "");
  const tail = text.slice(-SCAN_TAIL).replace(/^\S{0,500}/, "");
  return [...scanIdentifiers(head), ...scanIdentifiers(tail)];
}
