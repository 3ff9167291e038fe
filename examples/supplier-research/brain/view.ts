import { type ScriptRequest, type WireMessage, wireText } from "@longhaul/test-kit";
import { type Fact, type FoundFact, factKey, findFacts } from "./facts.ts";
import { findPositions, furthest, type Position, START } from "./progress.ts";

export interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface AnsweredCall extends Call {
  readonly result: string;
}

/** All that the brain knows: what stands in one request. */
export interface View {
  readonly seats: number;
  readonly today: string;
  readonly forbidden: string | undefined;
  readonly mayOrder: boolean;
  /** Part of the past stands there as a record only. */
  readonly summarised: boolean;
  /** Latest statement of each fact, by `factKey`. */
  readonly facts: ReadonlyMap<string, FoundFact>;
  /** As written down or shown by answered calls. */
  readonly position: Position;
  /** Calls of the last assistant message with their results; empty when something else came after them. */
  readonly lastStep: readonly AnsweredCall[];
  /** Text of the last assistant message. */
  readonly lastText: string;
  /** Text of the human message that ends the request, notices included. */
  readonly lastHuman: string;
  readonly tools: ReadonlySet<string>;
  readonly supplierCount: number;
}

/** Reading is pure and pages are read again with every request, so what a text says is remembered. */
const readTexts = new Map<string, { facts: readonly FoundFact[]; position: Position }>();

function read(text: string): { facts: readonly FoundFact[]; position: Position } {
  let found = readTexts.get(text);
  if (!found) {
    if (readTexts.size > 2_000) readTexts.clear();
    found = { facts: findFacts(text), position: findPositions(text).reduce(furthest, START) };
    readTexts.set(text, found);
  }
  return found;
}

export function viewOf({ messages, tools }: ScriptRequest): View {
  const facts = new Map<string, FoundFact>();
  let position = START;
  for (const message of messages) {
    if (message.role === "system") continue;
    const found = read(wireText(message));
    for (const fact of found.facts) facts.set(factKey(fact.fact), fact);
    position = furthest(position, found.position);
  }
  for (const call of answeredCalls(messages)) position = furthest(position, positionOf(call));
  const spoken = messages
    .filter(({ role }) => role !== "tool")
    .map(wireText)
    .join("\n");
  const lastAssistant = messages.findLastIndex(({ role }) => role === "assistant");
  const last = messages.at(-1);
  return {
    seats: Number(/for (\d+) seats/.exec(spoken)?.[1] ?? 1),
    today: /Today is (\d{4}-\d\d-\d\d)/.exec(spoken)?.[1] ?? "2000-01-01",
    forbidden: /never contact ([A-Z][a-z]+ [A-Z][a-z]+)/i.exec(spoken)?.[1],
    mayOrder: !/do not order/i.test(spoken),
    summarised: spoken.includes("<longhaul-memory"),
    facts,
    position,
    lastStep: lastAssistant < 0 ? [] : answeredCalls(messages.slice(lastAssistant)),
    lastText: lastAssistant < 0 ? "" : wireText(messages[lastAssistant] as WireMessage),
    lastHuman: last?.role === "user" ? wireText(last) : "",
    tools: new Set(tools.map((tool) => tool.function.name)),
    supplierCount: Number(/There are (\d+) suppliers/.exec(spoken)?.[1] ?? 0),
  };
}

export function factsOf<K extends Fact["kind"]>(view: View, kind: K): readonly Extract<Fact, { kind: K }>[] {
  return [...view.facts.values()]
    .map(({ fact }) => fact)
    .filter((fact): fact is Extract<Fact, { kind: K }> => fact.kind === kind);
}

export function factOf<K extends Fact["kind"]>(
  view: View,
  kind: K,
  id: string,
): Extract<Fact, { kind: K }> | undefined {
  const found = view.facts.get(`${kind} ${id}`)?.fact;
  return found?.kind === kind ? (found as Extract<Fact, { kind: K }>) : undefined;
}

export const PAGE_ORDER = ["profile", "pricing", "trust", "terms"];

/** Number of a supplier: 7 for `S07`. */
export const ordinal = (id: unknown) => Number(String(id).slice(1));

function positionOf({ name, args }: Call): Position {
  const k = ordinal(args.supplier);
  switch (name) {
    case "read_page":
      return { ...START, read: (k - 1) * 5 + PAGE_ORDER.indexOf(String(args.page)) + 1 };
    case "check_report":
      return { ...START, read: k * 5 };
    case "request_quote":
      return { ...START, quoted: k };
    default:
      return START;
  }
}

function answeredCalls(messages: readonly WireMessage[]): readonly AnsweredCall[] {
  const results = new Map<string, string>();
  const calls: AnsweredCall[] = [];
  for (const message of messages.toReversed()) {
    if (message.role === "tool") results.set(message.tool_call_id ?? "", wireText(message));
    for (const call of message.tool_calls?.toReversed() ?? []) {
      const result = results.get(call.id);
      if (result === undefined) continue;
      results.delete(call.id);
      calls.push({ name: call.function.name, args: parse(call.function.arguments), result });
    }
  }
  return calls.reverse();
}

function parse(json: string): Record<string, unknown> {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return {};
  }
}
