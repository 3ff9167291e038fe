/** Events of this concern. */
export type ToolEvent =
  | {
      readonly type: "tool.finished";
      readonly tool: string;
      readonly callId: string | undefined;
      /** Milliseconds, waiting for a slot included. */
      readonly ms: number;
      readonly outcome: "ok" | "error" | "suspended";
    }
  | {
      readonly type: "tool.retried";
      readonly tool: string;
      readonly attempt: number;
      readonly delayMs: number;
      readonly reason: string;
    }
  | { readonly type: "tool.timed-out"; readonly tool: string; readonly timeoutMs: number }
  | { readonly type: "model.timed-out"; readonly timeoutMs: number };
