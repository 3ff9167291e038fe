/** Why a summary was not taken. */
export type SummaryFailure =
  /** The summariser threw: network, rate limit, refusal by the provider. */
  | "throw"
  /** No text at all, or white space only. */
  | "empty"
  /** Only reasoning blocks. */
  | "reasoning-only"
  /** Only calls of tools. */
  | "tool-call-only"
  /** Cut by the output limit before the required parts. */
  | "truncated"
  /** No answer within `timeoutMs`. */
  | "timeout"
  /** Text that is no summary: broken JSON, missing parts, an error message. */
  | "malformed"
  /** Implausibly short for what it replaces. */
  | "collapsed"
  /** Longer than what it replaces. */
  | "grew";

/** Events of this concern. No text of the run is in them, except identifiers that were struck (never secrets). */
export type SummaryEvent =
  | {
      readonly type: "summary.made";
      readonly fromStep: number;
      readonly toStep: number;
      readonly by: "model" | "extractive";
      /** Found in the artifact store, made before a crash: no model call. */
      readonly reused: boolean;
      /** Calls of the summariser, failed ones included. */
      readonly calls: number;
    }
  | {
      readonly type: "summary.refused";
      readonly fromStep: number;
      readonly toStep: number;
      readonly reason: SummaryFailure;
      readonly message: string;
      readonly calls: number;
    }
  | {
      readonly type: "summary.audited";
      readonly fromStep: number;
      readonly toStep: number;
      /** Identifiers of the summary that are not in its source; taken out. */
      readonly struck: readonly string[];
      /** Identifiers that were altered by a slip and put right. */
      readonly repaired: readonly { readonly from: string; readonly to: string }[];
    }
  | {
      readonly type: "summary.indexed";
      readonly fromStep: number;
      readonly toStep: number;
      /** How many identifiers of the folded groups went to the index because no summary holds them. */
      readonly indexed: number;
      /** How many more there were beyond the cap; still in the messages and in `recall`. */
      readonly left: number;
    }
  | {
      readonly type: "summary.merged";
      readonly fromStep: number;
      readonly toStep: number;
      readonly tier: number;
      /** Outputs that did not fit; in full under `ref`. */
      readonly dropped: number;
      readonly ref?: string | undefined;
    }
  | {
      readonly type: "artifact.lost";
      readonly kind: string;
      readonly label: string;
      readonly chars: number;
      readonly reason: string;
    };
