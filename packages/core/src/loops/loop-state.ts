import type { Json } from "../json/json.ts";

/** Channel `_longhaulLoops`. The loop concern deepens this; the rest reads none of it. */
export interface LoopState {
  readonly v: 1;
  readonly [key: string]: Json;
}
