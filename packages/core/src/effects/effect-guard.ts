import type { ToolMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Deps } from "../clock.ts";
import { canonicalJson, NotCanonicalError } from "../json/canonical-json.ts";
import type { Json } from "../json/json.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import type { EffectAnswer, ErrorOutcome } from "../tools/tool-options.ts";
import { isTransient } from "../tools/transient-error.ts";
import { askHuman, burnAnswers } from "./ask-human.ts";
import { type GuardedCall, threadOf, type Whereabouts, whereabouts } from "./call-site.ts";
import { type CurrentEffect, enclosingEffect, withCurrentEffect } from "./current-effect.ts";
import { EffectConflictError, EffectOpenError, SharedFailureError } from "./effect-errors.ts";
import { deriveEffectKey, type EffectKey, ownEffectKey } from "./effect-key.ts";
import { type ClaimRequest, EffectLedger } from "./effect-ledger.ts";
import { inProgressMessage, unknownMessage } from "./effect-messages.ts";
import { type EffectOptions, resolveEffectOptions } from "./effect-options.ts";
import type { EffectRecord } from "./effect-record.ts";
import type { EffectRun } from "./effect-run.ts";
import { errorLine, errorOutcome } from "./error-outcome.ts";
import { FreeEffect } from "./free-effect.ts";
import { replay } from "./replay.ts";
import { encodeResult, NotStorable } from "./stored-result.ts";

/** Runs the tool's body once. */
export type RunOnce = (args: unknown) => Promise<unknown>;

/** What to do about an error: run again, give up, or take what the world says the result is. */
export type Recovery = "again" | "stop" | { readonly value: unknown };

/** Runs `once` again as long as `recover` allows it and its own limit is not reached. */
export type Retry = (
  once: (attempt: number) => Promise<unknown>,
  recover: (error: unknown) => Promise<Recovery>,
) => Promise<unknown>;

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
    const request = this.#request(call, where, key);
    const tries = new Tries();
    for (;;) {
      const claim = await this.#claim(call, request);
      switch (claim.status) {
        case "run":
          tries.burn(call, claim.run.record);
          return this.#runClaimed(call, claim.run, once, retry, tries);
        case "committed":
          return this.#replay(call, claim.key, claim.record);
        case "failed":
          throw new SharedFailureError({ key: claim.key, reason: claim.record.reason ?? "it failed" });
        case "in-progress":
          call.emit({ type: "effect.in-progress", tool: call.traits.name, key: claim.key });
          return answer(call, claim.key, inProgressMessage(named(call, claim.key)));
        case "unknown": {
          const settled = await this.#settle(call, claim.key, claim.record, tries);
          if (settled !== "absent" && settled !== "again") return settled.value;
          if (settled === "absent") continue;
          const run = await this.ledger.reclaim(request.thread, claim.key);
          if (run) return this.#runClaimed(call, run, once, retry, tries);
        }
      }
    }
  }

  async #runClaimed(
    call: GuardedCall,
    run: EffectRun,
    once: RunOnce,
    retry: Retry,
    tries: Tries,
  ): Promise<unknown> {
    const { traits, emit } = call;
    const mark = { tool: traits.name, key: run.key };
    let value: unknown;
    try {
      value = await retry(
        (attempt) => this.#runOnce(call, run.key, handleOf(run, attempt), once),
        (error) => this.#recover(call, run, error),
      );
    } catch (error) {
      if (isGraphBubbleUp(error)) {
        await run.suspend();
        emit({ type: "effect.suspended", ...mark });
        throw error;
      }
      const reason = errorLine(error);
      switch (outcomeOf(call, error)) {
        case "not-done":
          await this.#quietly(call, () => run.fail(reason));
          emit({ type: "effect.failed", ...mark, reason });
          throw error;
        case "refused":
          await this.#quietly(call, () => run.commit({ ok: false, message: refusalText(error) }));
          emit({ type: "effect.committed", ...mark, attempt: run.attempt, ok: false });
          throw error;
        default:
          await this.#quietly(call, () => run.unknown(reason));
          emit({ type: "effect.unknown", ...mark, reason });
          // Cancelled by the user: nobody is left to hear an answer.
          if (call.config.signal?.aborted) throw error;
          return this.#afterUnknown(call, run, error, reason, tries);
      }
    }
    await this.#quietly(call, () => run.commit({ ok: true, value: this.#store(call, value) }));
    emit({ type: "effect.committed", ...mark, attempt: run.attempt, ok: true });
    return value;
  }

  /** The tool itself just ended without an outcome: the world or a human may know; another run is not ours to start. */
  async #afterUnknown(
    call: GuardedCall,
    run: EffectRun,
    error: unknown,
    reason: string,
    tries: Tries,
  ): Promise<unknown> {
    const settled = await this.#settle(call, run.key, { ...run.record, reason }, tries);
    if (settled === "absent") throw error;
    if (settled === "again") return answer(call, run.key, unknownMessage(named(call, run.key), reason));
    return settled.value;
  }

  async #settle(
    call: GuardedCall,
    key: string,
    record: EffectRecord,
    tries: Tries,
  ): Promise<{ readonly value: unknown } | "absent" | "again"> {
    const { traits } = call;
    const checked = await this.#check(call, key);
    if (checked.outcome !== "unknown") return this.#apply(call, key, checked, "check", undefined);
    if (traits.effect === "key" || traits.onUnknown === "retry") return "again";
    if (traits.onUnknown === "ask") {
      tries.burn(call, record);
      const asked = askHuman(call, key, record, tries.burnt);
      if (asked) {
        tries.burnt++;
        return this.#apply(call, key, asked.answer, "human", asked.asked);
      }
      call.emit({ type: "effect.degraded", tool: traits.name, reason: "no graph to ask a human in" });
    }
    return {
      value: answer(call, key, unknownMessage(named(call, key), record.reason ?? "no outcome was recorded")),
    };
  }

  async #apply(
    call: GuardedCall,
    key: string,
    said: EffectAnswer,
    by: "check" | "human",
    asked: EffectRecord["asked"],
  ): Promise<{ readonly value: unknown } | "absent"> {
    const value = said.outcome === "done" ? (said.result ?? null) : undefined;
    const record = await this.ledger.resolve(threadOf(call.config), key, said.outcome, { value, asked });
    call.emit({ type: "effect.settled", tool: call.traits.name, key, outcome: said.outcome, by });
    if (said.outcome === "absent") return "absent";
    if (said.outcome === "done") return { value: this.#replay(call, key, record) };
    return { value: answer(call, key, unknownMessage(named(call, key), record.reason ?? "nobody knows")) };
  }

  async #check(call: GuardedCall, key: string): Promise<EffectAnswer> {
    const { check } = call.traits;
    if (!check) return { outcome: "unknown" };
    try {
      return await check(call.args as Record<string, unknown>, key);
    } catch (error) {
      if (isGraphBubbleUp(error)) throw error;
      call.emit({
        type: "effect.degraded",
        tool: call.traits.name,
        reason: `the check failed: ${errorLine(error)}`,
      });
      return { outcome: "unknown" };
    }
  }

  /** Whether a retryable error of the running claim may be tried again inside it. */
  async #recover(call: GuardedCall, run: EffectRun, error: unknown): Promise<Recovery> {
    const { traits } = call;
    if (call.config.signal?.aborted || !isTransient(error)) return "stop";
    if (traits.effect === "key") return "again";
    if (traits.effect !== "query") return "stop";
    if (outcomeOf(call, error) === "not-done") return "again";
    const checked = await this.#check(call, run.key);
    if (checked.outcome === "absent") return "again";
    if (checked.outcome === "unknown") return "stop";
    return {
      value: replay(call, { ok: true, value: checked.result ?? null }, { key: run.key, ageMs: 0 }),
    };
  }

  async #runFree(
    call: GuardedCall,
    key: EffectKey | undefined,
    once: RunOnce,
    retry: Retry,
  ): Promise<unknown> {
    const free = await FreeEffect.start(this.ledger, call, key, this.#deps.newId);
    const value = await retry(
      (attempt) => this.#runOnce(call, free.key, handleOf(free, attempt), once),
      async (error) =>
        call.traits.effect === "none" && !call.config.signal?.aborted && isTransient(error)
          ? "again"
          : "stop",
    );
    await free.end();
    return value;
  }

  #runOnce(call: GuardedCall, key: string, effect: CurrentEffect, once: RunOnce): Promise<unknown> {
    const { injectKey, name } = call.traits;
    const args = injectKey === undefined ? call.args : { ...(call.args as object), [injectKey]: key };
    return withCurrentEffect({ tool: name, callId: call.callId, effect }, () => once(args));
  }

  async #claim(call: GuardedCall, request: ClaimRequest) {
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

  async #keyOf(call: GuardedCall, where: Whereabouts): Promise<EffectKey | undefined> {
    const { traits, config, args } = call;
    const thread = threadOf(config);
    const generation = traits.effect === "none" ? 0 : await this.ledger.generationOf(thread);
    const { name: tool, server, version } = traits;
    const parts = { scope: this.#options.scope?.(config), thread, generation, tool, server, version, args };
    try {
      const own = traits.keyOf?.(args as Record<string, unknown>);
      return own === undefined ? deriveEffectKey({ ...parts, ...where }) : ownEffectKey(parts, own);
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
    const edited = proposed !== undefined && canonicalJson(proposed) !== canonicalJson(call.args);
    return {
      thread,
      ...key,
      tool: call.traits.name,
      args: plainArgs(call.args),
      ...(edited ? { proposed: plainArgs(proposed) } : {}),
      ...(thread === "" ? { expiresAt: this.#deps.clock.now() + THREADLESS_LIFE_MS } : {}),
      signal: call.config.signal,
    };
  }

  #replay(call: GuardedCall, key: string, record: EffectRecord): unknown {
    const ageMs = Math.max(0, this.#deps.clock.now() - record.updatedAt);
    call.emit({ type: "effect.replayed", tool: call.traits.name, key, ageMs });
    return replay(call, record.outcome ?? { ok: true, value: null }, { key, ageMs });
  }

  #store(call: GuardedCall, value: unknown): Json {
    try {
      return encodeResult(value, call.callId);
    } catch (error) {
      const what = error instanceof NotStorable ? error.message : errorLine(error);
      call.emit({
        type: "effect.degraded",
        tool: call.traits.name,
        reason: `the result cannot be stored: ${what}`,
      });
      return null;
    }
  }

  /**
   * The tool has ended: a ledger that fails now must not turn a done effect into an error. The claim stays, lapses, and reads as
   * unknown.
   */
  async #quietly(call: GuardedCall, write: () => Promise<boolean>): Promise<void> {
    try {
      if (await write()) return;
      call.emit({
        type: "effect.degraded",
        tool: call.traits.name,
        reason: "settled by somebody else meanwhile",
      });
    } catch (error) {
      call.emit({
        type: "effect.degraded",
        tool: call.traits.name,
        reason: `not recorded: ${errorLine(error)}`,
      });
    }
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

/** Answers of a human that this execution has consumed. */
class Tries {
  burnt = 0;

  burn(call: GuardedCall, record: EffectRecord): void {
    if (this.burnt === 0) this.burnt = burnAnswers(call, record);
  }
}

function outcomeOf(call: GuardedCall, error: unknown): ErrorOutcome {
  const said = call.traits.outcomeOf?.(error) ?? errorOutcome(error, call.args);
  // What a cancelled call says is no answer of the world, in whatever words.
  return said === "refused" && call.config.signal?.aborted ? "unknown" : said;
}

function handleOf(
  run: Pick<EffectRun, "key" | "attempt" | "progress" | "saveProgress">,
  attempt: number,
): CurrentEffect {
  return {
    key: run.key,
    attempt: run.attempt + attempt - 1,
    get progress() {
      return run.progress;
    },
    saveProgress: (progress) => run.saveProgress(progress),
  };
}

function named(call: GuardedCall, key: string) {
  return { tool: call.traits.name, callId: call.callId, key };
}

function answer(call: GuardedCall, key: string, message: ToolMessage): ToolMessage {
  if (!call.answersCall) throw new EffectOpenError({ key, text: String(message.content) });
  return message;
}

/** As a tool node words it, so that a replay reads like the first answer. */
function refusalText(error: unknown): string {
  return `${String(error)}\n Please fix your mistakes.`;
}

function plainArgs(args: unknown): Json {
  try {
    const text = JSON.stringify(args);
    return text === undefined || text.length > MAX_ARGS ? null : (JSON.parse(text) as Json);
  } catch {
    return null;
  }
}
