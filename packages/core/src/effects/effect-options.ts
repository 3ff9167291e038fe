import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidOptionsError } from "../errors.ts";

/** How the effect guard works, beside what belongs to one tool (`ToolOptions`). */
export interface EffectOptions {
  /**
   * Boundary that keys never cross, a tenant for instance; read from the config of each call. A thread id alone is no boundary
   * where tenants choose their own. @default none
   */
  readonly scope?: ((config: RunnableConfig) => string | undefined) | undefined;
  /**
   * What a call does whose effect was done on another branch of the thread's history, from which somebody went back on purpose
   * (time travel, an edited state): `"run"`, once on each branch, or `"replay"`, the stored result. A caller's own key (`keyOf`)
   * always replays. @default "run"
   */
  readonly onFork?: "run" | "replay" | undefined;
  /** Milliseconds that a claim lasts without a sign of life, at least 1,000. @default 30,000 */
  readonly leaseMs?: number | undefined;
  /** Milliseconds between signs of life, at most half of the lease; each is one write. @default 10,000 */
  readonly heartbeatMs?: number | undefined;
  /** Milliseconds that a duplicate waits for the one that runs, at least 0. @default 60,000 */
  readonly waitMs?: number | undefined;
}

/** @throws InvalidOptionsError */
export function resolveEffectOptions(options: EffectOptions = {}): EffectOptions {
  const leaseMs = options.leaseMs ?? 30_000;
  const heartbeatMs = options.heartbeatMs ?? Math.min(10_000, leaseMs / 3);
  const waitMs = options.waitMs ?? 60_000;
  if (!(leaseMs >= 1_000 && Number.isFinite(leaseMs)))
    throw new InvalidOptionsError({
      option: "effects.leaseMs",
      value: leaseMs,
      expected: "at least 1000 ms",
    });
  if (!(heartbeatMs > 0 && heartbeatMs <= leaseMs / 2))
    throw new InvalidOptionsError({
      option: "effects.heartbeatMs",
      value: heartbeatMs,
      expected: "above 0 and at most half of leaseMs",
    });
  if (!(waitMs >= 0))
    throw new InvalidOptionsError({ option: "effects.waitMs", value: waitMs, expected: "at least 0 ms" });
  if (options.scope !== undefined && typeof options.scope !== "function")
    throw new InvalidOptionsError({ option: "effects.scope", value: options.scope, expected: "a function" });
  const { onFork } = options;
  if (onFork !== undefined && onFork !== "run" && onFork !== "replay")
    throw new InvalidOptionsError({ option: "effects.onFork", value: onFork, expected: '"run" or "replay"' });
  return { ...options, leaseMs, heartbeatMs, waitMs };
}
