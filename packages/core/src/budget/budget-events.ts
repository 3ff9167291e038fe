import type { BudgetLevel, BudgetLimitName } from "./budget-state.ts";
import type { CallKind } from "./usage.ts";

/** Events of this concern. */
export type BudgetEvent =
  /** A level was reached; one event for each, in order, also when a step jumps over one. */
  | {
      readonly type: "budget.level";
      readonly run: string;
      readonly level: BudgetLevel;
      readonly nearest: BudgetLimitName | "recursionLimit";
      readonly share: number;
    }
  /** A phase of the budget began. */
  | { readonly type: "budget.phase"; readonly run: string; readonly phase: string }
  /** A call was not admitted. */
  | {
      readonly type: "budget.refused";
      readonly run: string;
      readonly limit: BudgetLimitName;
      readonly wanted: number;
      readonly left: number;
    }
  /** A model call was counted. Tokens: `inputTokens` includes cached ones. */
  | {
      readonly type: "model.call";
      readonly run: string;
      readonly kind: CallKind;
      readonly agent: string;
      readonly model?: string | undefined;
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly cachedTokens: number;
      readonly reasoningTokens: number;
      readonly cost: number;
      readonly ms: number;
      readonly outcome: "ok" | "error";
      /** Part of the figures that had to be estimated. */
      readonly estimatedTokens: number;
    }
  /** A tool call was counted. */
  | {
      readonly type: "tool.call";
      readonly run: string;
      readonly tool: string;
      readonly ms: number;
      readonly outcome: "ok" | "error" | "refused" | "suspended";
    }
  /** The state of a budget after an agent step. */
  | {
      readonly type: "budget.step";
      readonly run: string;
      readonly tokens: number;
      readonly cost: number;
      readonly activeMs: number;
      readonly nearest: BudgetLimitName;
      readonly share: number;
    }
  /** LangGraph's step limit ends the run before its budget would: the setting to raise. */
  | {
      readonly type: "budget.recursion_limit";
      readonly recursionLimit: number;
      readonly modelCalls: number;
      readonly needed: number;
    }
  /** A provider reported no usage, or an absurd one, and `strict` is set: the run stops. */
  | { readonly type: "budget.unmeasured"; readonly run: string; readonly model?: string | undefined };
