import { ToolMessage } from "@langchain/core/messages";
import { type DynamicStructuredTool, tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { z } from "zod/v4";
import { type Emit, emitter } from "../events/event.ts";
import { taskInput } from "../state/task-input.ts";
import { EFFECT_METADATA } from "../tools/tool-options.ts";
import { type CheckpointVerdict, judgeCheckpoint } from "./judge-checkpoint.ts";
import { judgeReset } from "./judge-reset.ts";
import { checkpointSchema } from "./normalise-progress.ts";
import { progressMark } from "./progress-mark.ts";
import {
  type ProgressOptions,
  type ResolvedProgressOptions,
  resolveProgressOptions,
} from "./progress-options.ts";
import type { ProgressState } from "./progress-state.ts";
import { progressStep } from "./progress-step.ts";

/**
 * The `checkpoint` tool: the model saves its progress, as data that it can go on from.
 *
 * Returns a Command that answers the call and writes `_longhaulProgress`; the graph needs that channel. It has no effect
 * outside the state and computes everything from the state that it was given, so running it again after a crash gives the
 * same. What it refuses, it refuses with an error ToolMessage that says why and what to do; it does not throw.
 * Works in the tool nodes of langchain and of LangGraph, and beside other calls of the same message.
 */
export function createCheckpointTool(
  options: ProgressOptions = {},
): DynamicStructuredTool<typeof checkpointSchema> {
  const resolved = resolveProgressOptions(options);
  return tool(
    (args, config) => {
      const call = callOf(config, resolved.checkpointName, args);
      const found = progressStep(taskInput(config), call, resolved);
      const verdict = judgeCheckpoint(found.step, found.call, resolved);
      report(verdict, emitOf(config, resolved, found.step.step));
      return answer(call, verdict.refused ?? savedText(verdict, resolved), verdict.state, {
        failed: verdict.refused !== undefined,
        moved: verdict.saved && verdict.result.moved,
      });
    },
    {
      name: resolved.checkpointName,
      description:
        `Save your progress: goal, verified facts, finished steps, next steps, open questions. Required before ${resolved.resetName}. ` +
        `At most ${resolved.maxCharacters} characters; old finished steps are dropped first. Every fact needs a source that was seen in this task ` +
        "(URL, path, tool name or call id, artifact reference, or `user`); guesses belong in `open`. " +
        "Save only when there is something new: a fact, a finished step or a closed question.",
      schema: checkpointSchema,
      metadata: PURE,
    },
  ) as unknown as DynamicStructuredTool<typeof checkpointSchema>;
}

const resetSchema = z.object({});

/**
 * The `reset` tool: the model asks for a clean context that holds the checkpoint and none of the old messages.
 *
 * A granted reset only sets `reset` in `_longhaulProgress`; the messages stay in the state, and whoever builds the view
 * (the context concern, or `viewAfterReset`) leaves the old ones out from the next request on. Rules in `judgeReset`;
 * otherwise as `createCheckpointTool`.
 */
export function createResetTool(options: ProgressOptions = {}): DynamicStructuredTool<typeof resetSchema> {
  const resolved = resolveProgressOptions(options);
  return tool(
    (args, config) => {
      const call = callOf(config, resolved.resetName, args);
      const found = progressStep(taskInput(config), call, resolved);
      const verdict = judgeReset(found.step, found.call, resolved);
      emitOf(
        config,
        resolved,
        found.step.step,
      )(
        verdict.refused === undefined
          ? { type: "reset.granted", resets: verdict.state.resets }
          : { type: "reset.refused", detail: verdict.refused },
      );
      const text = verdict.refused ?? "The context is cleared. Go on from the checkpoint.";
      return answer(call, text, verdict.state, { failed: !verdict.granted, moved: verdict.granted });
    },
    {
      name: resolved.resetName,
      description:
        "Clear the context and go on from the last checkpoint; all other messages leave your sight. " +
        `Call ${resolved.checkpointName} first (the same turn is enough). ` +
        "From the second time on, at least one step must have been finished since the last reset.",
      schema: resetSchema,
      metadata: PURE,
    },
  ) as unknown as DynamicStructuredTool<typeof resetSchema>;
}

/** Nothing outside the state is touched: the effect ledger need not record these calls. */
const PURE = { [EFFECT_METADATA]: "none" };
interface ToolConfig {
  readonly toolCall?: { readonly id?: string; readonly name?: string; readonly args?: unknown };
  readonly toolCallId?: string;
  readonly configurable?: { readonly thread_id?: string; readonly checkpoint_ns?: string };
}

/** langchain's tool node passes `toolCallId`, LangGraph's the same; a bare `tool.invoke(call)` sets `toolCall`. */
function callOf(config: unknown, name: string, args: unknown) {
  const { toolCall, toolCallId } = (config ?? {}) as ToolConfig;
  return { id: toolCall?.id ?? toolCallId, name, args: toolCall?.args ?? args };
}

function emitOf(config: unknown, options: ResolvedProgressOptions, step: number): Emit {
  const { configurable } = (config ?? {}) as ToolConfig;
  return emitter(options.events, () => ({
    time: options.deps.clock.now(),
    threadId: configurable?.thread_id ?? "",
    namespace: configurable?.checkpoint_ns ?? "",
    step,
  }));
}

function answer(
  call: { readonly id: string | undefined; readonly name: string },
  content: string,
  progress: ProgressState,
  outcome: { readonly failed: boolean; readonly moved: boolean },
): Command {
  const message = new ToolMessage({
    content,
    tool_call_id: call.id ?? "",
    name: call.name,
    status: outcome.failed ? "error" : "success",
    additional_kwargs: progressMark(outcome.moved),
  });
  return new Command({ update: { messages: [message], _longhaulProgress: progress } });
}

function savedText({ state, result }: CheckpointVerdict, options: ResolvedProgressOptions): string {
  const { facts, done, todo, open } = result.progress;
  const lines = [
    `Saved: ${facts.length} facts, ${done.length} done (${state.doneDigests.length} in all), ${todo.length} to do, ${open.length} open.`,
  ];
  if (result.unsourced.length > 0) {
    lines.push(`Moved to open, because no source seen in this task was given: ${list(result.unsourced)}`);
  }
  if (result.cut.length > 0) {
    const items = result.cut.map((item) => `${item.field}: ${item.text}`);
    lines.push(`Cut to stay within ${options.maxCharacters} characters: ${list(items)}`);
  }
  if (state.idle > 0) {
    lines.push(
      "Warning: nothing new since the last checkpoint. The next one without a new fact, finished step or closed question is refused.",
    );
  }
  return lines.join("\n");
}

function list(items: readonly string[]): string {
  const shown = items
    .slice(0, 10)
    .map((item) => (item.length > 80 ? `${item.slice(0, 80).toWellFormed()}…` : item));
  return `${shown.join("; ")}${items.length > shown.length ? `; and ${items.length - shown.length} more` : ""}.`;
}

function report({ state, saved, result, refused }: CheckpointVerdict, emit: Emit): void {
  if (!saved) {
    emit({ type: "checkpoint.refused", detail: refused ?? "" });
    return;
  }
  const { facts, todo, open } = result.progress;
  emit({
    type: "checkpoint.saved",
    moved: result.moved,
    facts: facts.length,
    done: state.doneDigests.length,
    todo: todo.length,
    open: open.length,
    cut: result.cut.length,
  });
}
