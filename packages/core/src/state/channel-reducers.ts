import { mergeProgress } from "../progress/progress-state.ts";
import type { LonghaulChannel } from "./channels.ts";
import { lastWins, mergeKeyData } from "./reducers.ts";

/** Reducer of each channel. All may be applied twice to the same update. */
export const CHANNEL_REDUCERS: Readonly<Record<LonghaulChannel, (current: never, next: never) => unknown>> = {
  _longhaulTask: lastWins,
  _longhaulMemory: lastWins,
  _longhaulData: mergeKeyData,
  _longhaulProgress: mergeProgress,
  _longhaulLoops: lastWins,
  _longhaulBudget: lastWins,
  _longhaulRun: lastWins,
};
