import type { ToolCall } from "@langchain/core/messages";
import { ensureConfig } from "@langchain/core/runnables";
import { StructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Clock } from "../clock.ts";
import { type EventSink, emitter } from "../events/event.ts";
import { taskInput } from "../state/task-input.ts";
import { areArgumentsCut } from "../tools/cut-arguments.ts";
import { thrownValue } from "../tools/thrown-value.ts";
import { ToolArgumentsCutError } from "../tools/tool-errors.ts";
import type { ToolLimits } from "../tools/tool-limits.ts";
import { type ToolOptionsMap, toolTraits } from "../tools/tool-options.ts";
import { isTransient } from "../tools/transient-error.ts";
import { type GuardedCall, namespaceOf, type ToolCallConfig, threadOf } from "./call-site.ts";
import type { Retry } from "./effect-execution.ts";
import type { EffectGuard } from "./effect-guard.ts";
import { errorOutcome } from "./error-outcome.ts";

/** What a guard adds to a tool. Two guards around one tool make one guarded tool that has both. */
export interface ToolGuards {
  readonly effects?: EffectGuard | undefined;
  readonly limits?: ToolLimits | undefined;
  readonly tools?: ToolOptionsMap | undefined;
  readonly events?: EventSink | undefined;
  readonly clock: Clock;
  /** Called when the guarded tool is invoked: proof that nothing went around it. */
  readonly onInvoke?: (() => void) | undefined;
}

/** `Symbol.for`, because an app may hold two copies of the class. */
const GUARDED: unique symbol = Symbol.for("@longhaul/guarded-tool");

/** Anything that a tool node can invoke. */
export type InvokableTool = Pick<StructuredToolInterface, "name" | "invoke">;

/**
 * The tool with the guards inside: same name, description, schema and answers. Standing in the place of the tool itself, it
 * is passed by no middleware and no retry around it.
 */
export function guardTool(tool: InvokableTool, guards: ToolGuards): StructuredToolInterface {
  const inner = guardsOf(tool);
  if (!inner) return new GuardedTool(tool as StructuredToolInterface, guards);
  // The tool's own guard is the nearer one and stays; what it lacks is added. Order never matters.
  return new GuardedTool(inner.tool, {
    effects: inner.guards.effects ?? guards.effects,
    limits: inner.guards.limits ?? guards.limits,
    tools: { ...guards.tools, ...inner.guards.tools },
    events: inner.guards.events ?? guards.events,
    clock: inner.guards.clock,
    onInvoke: () => {
      inner.guards.onInvoke?.();
      guards.onInvoke?.();
    },
  });
}

/** Whether a tool guards its effect already. */
export function guardsEffect(tool: unknown): boolean {
  return guardsOf(tool)?.guards.effects !== undefined;
}

function guardsOf(
  tool: unknown,
): { readonly tool: StructuredToolInterface; readonly guards: ToolGuards } | undefined {
  return (tool as { [GUARDED]?: { tool: StructuredToolInterface; guards: ToolGuards } } | null | undefined)?.[
    GUARDED
  ];
}

class GuardedTool extends StructuredTool {
  override readonly name: string;
  override readonly description: string;
  override readonly schema: StructuredTool["schema"];
  readonly [GUARDED]: { readonly tool: StructuredToolInterface; readonly guards: ToolGuards };

  static override lc_name(): string {
    return "GuardedTool";
  }

  constructor(tool: StructuredToolInterface, guards: ToolGuards) {
    const { metadata, tags, responseFormat } = tool as Partial<StructuredTool>;
    super({
      ...(metadata === undefined ? {} : { metadata }),
      ...(tags === undefined ? {} : { tags }),
      ...(responseFormat === undefined ? {} : { responseFormat }),
      ...(tool.extras === undefined ? {} : { extras: tool.extras }),
    });
    this.name = tool.name;
    this.description = tool.description;
    this.schema = tool.schema as StructuredTool["schema"];
    this.returnDirect = tool.returnDirect;
    this[GUARDED] = { tool, guards };
  }

  override async invoke(input: unknown, config?: unknown): Promise<never> {
    const { tool, guards } = this[GUARDED];
    guards.onInvoke?.();
    const full = ensureConfig(config as ToolCallConfig) as ToolCallConfig;
    const toolCall = isToolCall(input) ? input : undefined;
    const emit = emitter(guards.events, () => ({
      time: guards.clock.now(),
      threadId: threadOf(full),
      namespace: namespaceOf(full),
    }));
    const call: GuardedCall = {
      traits: toolTraits(this, guards.tools),
      callId: toolCall ? toolCall.id : full.toolCall?.id,
      ownId: toolCall !== undefined,
      answersCall: (toolCall ?? full.toolCall)?.id !== undefined,
      args: toolCall ? toolCall.args : input,
      config: full,
      emit,
    };
    const { effects, limits } = guards;
    const once = (args: unknown) => {
      const run = async (signal: AbortSignal | undefined): Promise<unknown> => {
        try {
          return await tool.invoke(
            (toolCall ? { ...toolCall, args } : args) as never,
            (signal ? { ...full, signal } : full) as never,
          );
        } catch (error) {
          throw thrownValue(error);
        }
      };
      return limits ? limits.timed(call, run) : run(full.signal);
    };
    const retry = limits ? limits.retry(call) : (attempt: (n: number) => Promise<unknown>) => attempt(1);
    const work = () => (effects ? effects.run(call, once, retry) : retryAlone(call, once, retry));
    const start = guards.clock.monotonic();
    const finished = (outcome: "ok" | "error" | "suspended") =>
      emit({
        type: "tool.finished",
        tool: this.name,
        callId: call.callId,
        ms: guards.clock.monotonic() - start,
        outcome,
      });
    try {
      refuseCutArguments(call);
      const value = await (limits ? limits.inSlot(call, work) : work());
      finished((value as { status?: unknown } | null | undefined)?.status === "error" ? "error" : "ok");
      return value as never;
    } catch (error) {
      finished(isGraphBubbleUp(error) ? "suspended" : "error");
      throw error;
    }
  }

  /** Called by code that goes around `invoke`. */
  override async call(arg: unknown, config?: unknown): Promise<never> {
    return this.invoke(arg, config);
  }

  protected override _call(): Promise<never> {
    throw new Error("unreachable: invoke does not call it");
  }
}

/** Limits without a ledger: only what is safe to repeat by its own nature. */
function retryAlone(
  call: GuardedCall,
  once: (args: unknown) => Promise<unknown>,
  retry: Retry,
): Promise<unknown> {
  const { effect } = call.traits;
  return retry(
    () => once(call.args),
    async (error) => {
      if (effect === "record" || call.config.signal?.aborted || !isTransient(error)) return "stop";
      return effect === "query" && errorOutcome(error, call.args) !== "not-done" ? "stop" : "again";
    },
  );
}

/** @throws ToolArgumentsCutError */
function refuseCutArguments({ ownId, callId, args, config, traits }: GuardedCall): void {
  if (!ownId || callId === undefined) return;
  const state: unknown = taskInput(config);
  const messages: unknown = Array.isArray(state) ? state : (state as { messages?: unknown }).messages;
  if (Array.isArray(messages) && areArgumentsCut(messages, { id: callId, name: traits.name, args }))
    throw new ToolArgumentsCutError({ tool: traits.name });
}

function isToolCall(input: unknown): input is ToolCall {
  return typeof input === "object" && input !== null && (input as { type?: unknown }).type === "tool_call";
}
