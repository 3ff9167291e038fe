import type { EffectKind } from "./tool-options.ts";

interface KnownTool {
  readonly effect: EffectKind;
  readonly callsAgent?: true;
}

/** Tools that deepagents and LangChain bring along and nobody declares. */
const KNOWN: ReadonlyMap<string, KnownTool> = new Map<string, KnownTool>([
  ["task", { effect: "none", callsAgent: true }],
  ["write_todos", { effect: "none" }],
  ["ls", { effect: "none" }],
  ["read_file", { effect: "none" }],
  ["glob", { effect: "none" }],
  ["grep", { effect: "none" }],
]);

/** `transfer_to_x`, `handoff_to_x`, `transfer_back_to_x`: what supervisor and swarm libraries name their hand-offs. */
const HAND_OFF = /^(transfer|handoff|hand_off|delegate)(_back)?_to_/;

/** What is known about a tool by its name alone. Options and metadata of the tool come first. */
export function knownTool(name: string): KnownTool | undefined {
  return KNOWN.get(name) ?? (HAND_OFF.test(name) ? { effect: "none", callsAgent: true } : undefined);
}
