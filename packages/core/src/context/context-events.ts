/** Events of this concern. Token counts are calibrated estimates. */
export type ContextEvent =
  /** Old groups of the working layer were replaced by summaries. */
  | {
      readonly type: "fold.done";
      readonly fromStep: number;
      readonly toStep: number;
      readonly groups: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      /** The summary was found under its digest and not made again. */
      readonly reused: boolean;
      readonly durationMs: number;
    }
  /** A fold was due and failed; view and memory are as they were. */
  | {
      readonly type: "fold.failed";
      readonly reason: string;
      readonly message: string;
      /** No new try before this agent step. */
      readonly pausedUntilStep: number;
    }
  /** Folding cannot bring the request below its limit: what never folds is too large. Reported once until something changes. */
  | {
      readonly type: "fold.fruitless";
      /** Tokens of system prompt, tools, task and memory, with the tail that a fold keeps. */
      readonly floor: number;
      readonly softLimit: number;
      readonly trigger: number;
      readonly window: number;
      readonly tries: number;
    }
  /** A reset that the model was granted now shapes the view. */
  | { readonly type: "reset.applied"; readonly epoch: number; readonly atStep: number }
  /** A large result or pasted text was stored outside the context. */
  | {
      readonly type: "context.stored";
      readonly ref: string;
      readonly label: string;
      readonly chars: number;
    }
  /** A text should have been stored and could not be read back; the context promises no reference to it. */
  | {
      readonly type: "context.store-failed";
      readonly label: string;
      readonly chars: number;
      readonly reason: string;
    }
  /** Above the hard limit: results were cut by rule, without a summary. */
  | {
      readonly type: "context.reduced";
      readonly results: number;
      /** Of them, results that cannot be fetched by a reference. */
      readonly withoutReference: number;
      readonly total: number;
      readonly hardLimit: number;
    }
  /** Over the hard limit after every reduction, still inside the window. */
  | {
      readonly type: "context.over-limit";
      readonly total: number;
      readonly hardLimit: number;
      readonly window: number;
    }
  /** The provider found a request too long that should have fitted: the window is smaller than assumed, or the estimate was low. */
  | { readonly type: "context.overflow"; readonly total: number; readonly window: number }
  /** The memory layer passed its cap: what was left out of the view. All of it can be recalled. */
  | {
      readonly type: "context.memory-trimmed";
      readonly identifiers: number;
      readonly artifacts: number;
      readonly summaries: number;
    }
  /** Neither an option nor the model's profile says how large the window is. */
  | { readonly type: "context.window-unknown"; readonly assumed: number; readonly option: string }
  /** The request of one model call, by layer. */
  | {
      readonly type: "context.built";
      readonly system: number;
      readonly task: number;
      readonly memory: number;
      readonly working: number;
      readonly notices: number;
      readonly total: number;
    };
