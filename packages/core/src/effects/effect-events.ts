/** Events of this concern. `key` is the effect's key; none carries arguments or results. */
export type EffectEvent =
  | {
      readonly type: "effect.committed";
      readonly tool: string;
      readonly key: string;
      readonly attempt: number;
      /** False: the tool answered with a refusal, which is its result. */
      readonly ok: boolean;
    }
  | { readonly type: "effect.replayed"; readonly tool: string; readonly key: string; readonly ageMs: number }
  /** Done before on another branch of the history, and run again on this one; `key` is the one that it has here. */
  | { readonly type: "effect.forked"; readonly tool: string; readonly key: string }
  | { readonly type: "effect.unknown"; readonly tool: string; readonly key: string; readonly reason: string }
  | { readonly type: "effect.failed"; readonly tool: string; readonly key: string; readonly reason: string }
  | { readonly type: "effect.suspended"; readonly tool: string; readonly key: string }
  | {
      readonly type: "effect.settled";
      readonly tool: string;
      readonly key: string;
      readonly outcome: "done" | "absent" | "unknown";
      readonly by: "check" | "human";
    }
  | { readonly type: "effect.conflict"; readonly tool: string; readonly key: string }
  | { readonly type: "effect.in-progress"; readonly tool: string; readonly key: string }
  /** The call ran without the ledger: arguments without a canonical form, or a tool that the guard cannot see. */
  | {
      readonly type: "effect.unguarded";
      readonly tool: string;
      readonly reason: "arguments" | "dynamic-tool" | "bypassed";
    }
  /** Nobody said what the tool does; once for each tool. */
  | { readonly type: "effect.undeclared"; readonly tool: string }
  | { readonly type: "effect.degraded"; readonly tool: string; readonly reason: string };
