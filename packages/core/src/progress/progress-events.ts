/** Events of this concern. */
export type ProgressEvent =
  | {
      readonly type: "checkpoint.saved";
      /** It brought a new fact, a done item or closed an open one. */
      readonly moved: boolean;
      readonly facts: number;
      /** Done items of the whole run, cut ones included. */
      readonly done: number;
      readonly todo: number;
      readonly open: number;
      /** Items that did not fit. */
      readonly cut: number;
    }
  | { readonly type: "checkpoint.refused"; readonly detail: string }
  /** The model asked for a new epoch and gets it: `resets` counts them. */
  | { readonly type: "reset.granted"; readonly resets: number }
  | { readonly type: "reset.refused"; readonly detail: string }
  /** The working layer is full: the model was asked to checkpoint and reset. */
  | { readonly type: "reset.asked"; readonly times: number; readonly workingTokens: number }
  /** The run ended for want of progress. */
  | { readonly type: "progress.stop"; readonly idle: number };
