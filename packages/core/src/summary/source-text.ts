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

/** One text of a group. */
interface Part {
  readonly text: string;
  readonly from: "human" | "args" | "result";
  /** Name of the tool, `assistant` or `user`. */
  readonly by: string;
  /** For arguments: whether the call was answered without an error. */
  readonly done: boolean;
  readonly identifiers: readonly Identifier[];
}

/** A group is scanned once, however often its summary is made, judged and looked up. */
const cache = new WeakMap<MessageGroup, readonly Part[]>();

/**
 * @param isEffect which tools change the world: the arguments of their successful calls are kept before others.
 */
export function readSource(
  groups: readonly MessageGroup[],
  isEffect: (toolName: string) => boolean = () => false,
): SourceText {
  const texts: { readonly text: string; readonly source: string }[] = [];
  const identifiers: SourceIdentifier[] = [];
  let step = groups.find((group) => group.step !== undefined)?.step ?? 0;
  for (const group of groups) {
    step = group.step ?? step;
    for (const part of groupParts(group)) {
      const source = part.by === "user" ? "user" : `${part.by}, step ${step}`;
      const from = part.from === "args" && part.done && isEffect(part.by) ? "effect" : part.from;
      texts.push({ text: part.text, source });
      for (const { text, kind } of part.identifiers) identifiers.push({ text, kind, step, from, source });
    }
  }
  return {
    text: texts.map((part) => part.text).join("\n"),
    identifiers,
    locate: (value) => texts.findLast((part) => part.text.includes(value))?.source,
  };
}

function groupParts(group: MessageGroup): readonly Part[] {
  let parts = cache.get(group);
  if (!parts) {
    const facts = readGroup(group);
    const by = group.kind === "human" ? "user" : "assistant";
    parts = [
      partOf(facts.said, group.kind === "human" ? "human" : "args", by, false),
      ...facts.calls.flatMap((call) => {
        const done = call.result !== undefined && !call.failed;
        const result = call.result ?? "";
        return [
          partOf(`${call.name}\n${call.argsText}`, "args", call.name, done, withLineBreaks(call.argsText)),
          partOf(
            result,
            "result",
            call.name,
            done,
            call.json === undefined ? result : withLineBreaks(result),
          ),
        ];
      }),
    ].filter((part) => part.text !== "");
    cache.set(group, parts);
  }
  return parts;
}

function partOf(text: string, from: Part["from"], by: string, done: boolean, scanned = text): Part {
  // JSON escapes hide values; the unescaped form counts as said too.
  const unescaped = text.includes("\\") ? `\n${text.replace(/\\(["\\/])/g, "$1").replace(/\\n/g, "\n")}` : "";
  return { text: text + unescaped, from, by, done, identifiers: scanLong(scanned) };
}

/** For scanning JSON: an escaped line break ends a token like any other; the `n` behind an escaped backslash is none. */
function withLineBreaks(json: string): string {
  return json.replace(/\\(?:([nrt])|.)/gs, (pair, white) => (white ? "\n" : pair));
}

/** Identifiers of a call's result, from the same scan. */
export function resultIdentifiers(group: MessageGroup, result: string): readonly Identifier[] {
  return (
    groupParts(group).find((part) => part.from === "result" && part.text.startsWith(result))?.identifiers ??
    []
  );
}

function scanLong(text: string): readonly Identifier[] {
  if (text.length <= SCAN_HEAD + SCAN_TAIL) return scanIdentifiers(text);
  // Cut at white space, so that no half identifier is taken for a whole one.
  const head = text.slice(0, SCAN_HEAD).replace(/\S{0,500}$/, "");
  const tail = text.slice(-SCAN_TAIL).replace(/^\S{0,500}/, "");
  return [...scanIdentifiers(head), ...scanIdentifiers(tail)];
}
