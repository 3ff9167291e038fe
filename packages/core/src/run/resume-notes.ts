import type { BaseMessage } from "@langchain/core/messages";
import { type NodeConfig, nodeConfig } from "../state/node-config.ts";
import { type ResumeNotice, readResumeNotice } from "./run-step.ts";

/** The step at which the note of an invocation was shown, by the invocation's stream writer. */
const shown = new WeakMap<object, string>();

/**
 * The resume note, if the next model call is the one to show it: `configurable.longhaul_resume` stays the same for a whole
 * invocation, the note belongs to its first model call. The same step again gets it again: its first try was not kept.
 *
 * A subgraph gets none: it inherits the config, but it was its parent that was resumed.
 *
 * @param messages the stored history; what it ends with says which step this is
 */
export function dueResumeNote(
  messages: readonly BaseMessage[],
  config: NodeConfig = nodeConfig(),
): ResumeNotice | undefined {
  const { configurable, writer } = config;
  const note = readResumeNotice(configurable?.longhaul_resume);
  if (!note || String(configurable?.checkpoint_ns ?? "").includes("|")) return undefined;
  if (!writer) return note;
  const step = `${messages.length}:${messages.at(-1)?.id ?? ""}`;
  const at = shown.get(writer) ?? step;
  shown.set(writer, at);
  return at === step ? note : undefined;
}
