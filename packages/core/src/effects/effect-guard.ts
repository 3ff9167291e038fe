import type { Deps } from "../clock.ts";
import { canonicalJson, NotCanonicalError } from "../json/canonical-json.ts";
import type { Json } from "../json/json.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import { isTransient } from "../tools/transient-error.ts";
import { type GuardedCall, threadOf, type Whereabouts, whereabouts } from "./call-site.ts";
import { enclosingEffect } from "./current-effect.ts";
import { EffectConflictError, SharedFailureError } from "./effect-errors.ts";
import { EffectExecution, type Retry, type RunOnce, runOnce } from "./effect-execution.ts";
import { deriveEffectKey, type EffectKey, ownEffectKey } from "./effect-key.ts";
import { type Claim, type ClaimRequest, EffectLedger } from "./effect-ledger.ts";
import { type EffectOptions, resolveEffectOptions } from "./effect-options.ts";
import type { EffectRecord } from "./effect-record.ts";
import { isOnOtherBranch, rootCheckpointOf } from "./fork.ts";
import { FreeEffect } from "./free-effect.ts";

/** Set in `configurable` by whoever went back for another reason than to do it again. */
export const ON_FORK = "longhaul_on_fork";

const MAX_ARGS = 16_000;
/** A run without a thread cannot be resumed: its records serve retries inside it. */
const THREADLESS_LIFE_MS = 24 * 3_600_000;

/**
 * Runs a tool so that its effect happens once: claim, run, commit. What a claim finds decides the rest: a stored result is
 * replayed, an unknown outcome is checked, told, asked about or (where the tool allows it) run again, a conflict is refused.
 */
export class EffectGuard {
  readonly ledger: EffectLedger;
  readonly #options: EffectOptions;
  readonly #deps: Deps;
  readonly #survives: boolean;
  readonly #announced = new Set<string>();

  constructor(storage: LonghaulStorage, options: EffectOptions | undefined, deps: Deps) {
    this.#options = resolveEffectOptions(options);
    this.#deps = deps;
    this.#survives = storage.survivesProcess;
    // Own numbers need an own ledger; it holds nothing but them, the records are the storage's.
    this.ledger =
      options?.leaseMs || options?.heartbeatMs || options?.waitMs !== undefined
        ? new EffectLedger(storage.records, storage.effects.deps, {
            ...this.#options,
            owner: storage.effects.owner,
          })
        : storage.effects;
  }

  /** @throws what the tool throws; EffectConflictError, EffectLedgerError, SharedFailureError */
  async run(call: GuardedCall, once: RunOnce, retry: Retry): Promise<unknown> {
    this.#announce(call);
    const where = this.#locate(call);
    const key = where && (await this.#keyOf(call, where));
    if (!where || !key || call.traits.effect === "none") return this.#runFree(call, key, once, retry);
    const execution = new EffectExecution(this.ledger, this.#deps.clock, call, once, retry);
    let request = this.#request(call, where, key);
    for (let branch = 1; ; ) {
      const claim = await this.#claim(call, request);
      switch (claim.status) {
        case "run":
          return execution.run(claim.run);
        case "committed": {
          const own = key.equals !== undefined && (await this.#isForked(call, claim.record));
          const other = own ? await this.#keyOf(call, where, branch++) : undefined;
          if (!other) return execution.replay(claim.key, claim.record);
          request = { ...request, ...other };
          call.emit({ type: "effect.forked", tool: call.traits.name, key: other.key });
          continue;
        }
        case "failed":
          throw new SharedFailureError({ key: claim.key, reason: claim.record.reason ?? "it failed" });
        case "in-progress":
          return execution.inProgress(claim.key);
        case "unknown": {
          const settled = await execution.settle(claim.key, claim.record);
          if (settled === "absent") continue;
          if (settled !== "again") return settled.value;
          const run = await this.ledger.reclaim(request.thread, claim.key);
          if (run) return execution.run(run);
        }
      }
    }
  }

  async #runFree(
    call: GuardedCall,
    key: EffectKey | undefined,
    once: RunOnce,
    retry: Retry,
  ): Promise<unknown> {
    const free = await FreeEffect.start(this.ledger, call, key, this.#deps.newId);
    const value = await retry(
      (attempt) => runOnce(call, free, attempt, once),
      async (error) =>
        call.traits.effect === "none" && !call.config.signal?.aborted && isTransient(error)
          ? "again"
          : "stop",
    );
    await free.end();
    return value;
  }

  async #claim(call: GuardedCall, request: ClaimRequest): Promise<Claim> {
    try {
      return await this.ledger.claim(request);
    } catch (error) {
      if (EffectConflictError.isInstance(error))
        call.emit({ type: "effect.conflict", tool: call.traits.name, key: error.key });
      throw error;
    }
  }

  #locate(call: GuardedCall): Whereabouts | undefined {
    try {
      return whereabouts(call, enclosingEffect(), this.#deps.newId);
    } catch (error) {
      return this.#unguarded(call, error);
    }
  }

  async #isForked({ config }: GuardedCall, { from }: EffectRecord): Promise<boolean> {
    const policy = config.configurable?.[ON_FORK] ?? this.#options.onFork ?? "run";
    return policy === "run" && from !== undefined && (await isOnOtherBranch(from, config));
  }

  async #keyOf(call: GuardedCall, where: Whereabouts, branch = 0): Promise<EffectKey | undefined> {
    const { traits, config, args } = call;
    const thread = threadOf(config);
    const generation = traits.effect === "none" ? 0 : await this.ledger.generationOf(thread);
    const { name: tool, server, version } = traits;
    const parts = { scope: this.#options.scope?.(config), thread, generation, tool, server, version, args };
    try {
      const own = traits.keyOf?.(args as Record<string, unknown>);
      return own === undefined ? deriveEffectKey({ ...parts, ...where, branch }) : ownEffectKey(parts, own);
    } catch (error) {
      return this.#unguarded(call, error);
    }
  }

  /** Arguments that cannot be compared: neither de-duplicated nor blocked, and somebody hears of it. */
  #unguarded(call: GuardedCall, error: unknown): undefined {
    if (!NotCanonicalError.isInstance(error)) throw error;
    if (call.traits.effect !== "none")
      call.emit({ type: "effect.unguarded", tool: call.traits.name, reason: "arguments" });
    return undefined;
  }

  #request(call: GuardedCall, where: Whereabouts, key: EffectKey): ClaimRequest {
    const thread = threadOf(call.config);
    const proposed = where.located?.proposed;
    const edited = proposed !== undefined && !sameValue(proposed, call.args);
    return {
      thread,
      ...key,
      tool: call.traits.name,
      args: plainArgs(call.args),
      ...(edited ? { proposed: plainArgs(proposed) } : {}),
      callId: call.callId,
      from: rootCheckpointOf(call.config),
      ...(thread === "" ? { expiresAt: this.#deps.clock.now() + THREADLESS_LIFE_MS } : {}),
      signal: call.config.signal,
    };
  }

  #announce(call: GuardedCall): void {
    const { name, undeclared, effect } = call.traits;
    if (effect === "none" || this.#announced.has(name)) return;
    this.#announced.add(name);
    if (undeclared) call.emit({ type: "effect.undeclared", tool: name });
    if (!this.#survives)
      call.emit({
        type: "effect.degraded",
        tool: name,
        reason: "the ledger is in memory: effects are not remembered after the process",
      });
  }
}

function sameValue(a: unknown, b: unknown): boolean {
  try {
    return canonicalJson(a) === canonicalJson(b);
  } catch {
    return false;
  }
}

function plainArgs(args: unknown): Json {
  try {
    const text = JSON.stringify(args);
    return text === undefined || text.length > MAX_ARGS ? null : (JSON.parse(text) as Json);
  } catch {
    return null;
  }
}
