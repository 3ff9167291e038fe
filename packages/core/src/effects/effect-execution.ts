import type { ToolMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Clock } from "../clock.ts";
import type { Json } from "../json/json.ts";
import type { EffectAnswer, ErrorOutcome } from "../tools/tool-options.ts";
import { isTransient } from "../tools/transient-error.ts";
import { askHuman, burnAnswers } from "./ask-human.ts";
import { type GuardedCall, threadOf } from "./call-site.ts";
import { withCurrentEffect } from "./current-effect.ts";
import { EffectOpenError, EffectStateError } from "./effect-errors.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import { inProgressMessage, unknownMessage } from "./effect-messages.ts";
import type { EffectRecord } from "./effect-record.ts";
import type { EffectRun } from "./effect-run.ts";
import { errorLine, errorOutcome } from "./error-outcome.ts";
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

/** `absent`: it did not happen, claim again; `again`: it may be run again under its own key; else the answer to the call. */
export type Settled = "absent" | "again" | { readonly value: unknown };

/** What one call of a guarded tool does with what its claim found. */
export class EffectExecution {
  readonly #ledger: EffectLedger;
  readonly #clock: Clock;
  readonly #call: GuardedCall;
  readonly #once: RunOnce;
  readonly #retry: Retry;
  /** Answers of a human that this execution has consumed. */
  #burnt = 0;

  constructor(ledger: EffectLedger, clock: Clock, call: GuardedCall, once: RunOnce, retry: Retry) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#call = call;
    this.#once = once;
    this.#retry = retry;
  }

  /** Runs what is claimed and records what came of it. */
  async run(run: EffectRun): Promise<unknown> {
    const { traits, emit } = this.#call;
    const mark = { tool: traits.name, key: run.key };
    this.#burn(run.record);
    let value: unknown;
    try {
      value = await this.#retry(
        (attempt) => runOnce(this.#call, run, attempt, this.#once),
        (error) => this.#recover(run, error),
      );
    } catch (error) {
      if (isGraphBubbleUp(error)) {
        await this.#record(() => run.suspend());
        emit({ type: "effect.suspended", ...mark });
        throw error;
      }
      const reason = errorLine(error);
      switch (this.#outcomeOf(error)) {
        case "not-done":
          await this.#record(() => run.fail(reason));
          emit({ type: "effect.failed", ...mark, reason });
          throw error;
        case "refused":
          await this.#record(() => run.commit({ ok: false, message: refusalText(error) }));
          emit({ type: "effect.committed", ...mark, attempt: run.attempt, ok: false });
          throw error;
        default:
          await this.#record(() => run.unknown(reason));
          emit({ type: "effect.unknown", ...mark, reason });
          // Cancelled by the user: nobody is left to hear an answer.
          if (this.#call.config.signal?.aborted) throw error;
          return this.#afterUnknown(run, error, reason);
      }
    }
    await this.#record(() => run.commit({ ok: true, value: this.#encode(value) }));
    emit({ type: "effect.committed", ...mark, attempt: run.attempt, ok: true });
    return value;
  }

  /** Who knows what became of an effect: the world, the tool's own promise, a human; else the model is told. */
  async settle(key: string, record: EffectRecord): Promise<Settled> {
    const { traits, emit } = this.#call;
    const checked = await this.#check(key);
    if (checked.outcome !== "unknown") return this.#apply(key, checked, "check", undefined);
    if (traits.effect === "key" || traits.onUnknown === "retry") return "again";
    if (traits.onUnknown === "ask") {
      this.#burn(record);
      const asked = askHuman(this.#call, key, record, this.#burnt);
      if (asked) {
        this.#burnt++;
        return this.#apply(key, asked.answer, "human", asked.asked);
      }
      emit({ type: "effect.degraded", tool: traits.name, reason: "no graph to ask a human in" });
    }
    return { value: this.#tell(key, record.reason) };
  }

  replay(key: string, record: EffectRecord): unknown {
    const ageMs = Math.max(0, this.#clock.now() - record.updatedAt);
    this.#call.emit({ type: "effect.replayed", tool: this.#call.traits.name, key, ageMs });
    return replay(this.#answered, record.outcome ?? { ok: true, value: null }, { key, ageMs });
  }

  inProgress(key: string): ToolMessage {
    this.#call.emit({ type: "effect.in-progress", tool: this.#call.traits.name, key });
    return this.#answer(key, inProgressMessage(this.#named(key)));
  }

  /** The tool itself just ended without an outcome: the world or a human may know; another run is not ours to start. */
  async #afterUnknown(run: EffectRun, error: unknown, reason: string): Promise<unknown> {
    const settled = await this.settle(run.key, { ...run.record, reason });
    if (settled === "absent") throw error;
    return settled === "again" ? this.#tell(run.key, reason) : settled.value;
  }

  async #apply(
    key: string,
    said: EffectAnswer,
    by: "check" | "human",
    asked: EffectRecord["asked"],
  ): Promise<Settled> {
    const value = said.outcome === "done" ? (said.result ?? null) : undefined;
    let record: EffectRecord;
    try {
      record = await this.#ledger.resolve(threadOf(this.#call.config), key, said.outcome, { value, asked });
    } catch (error) {
      // Somebody else settled it meanwhile: the next claim sees how.
      if (EffectStateError.isInstance(error)) return "absent";
      throw error;
    }
    this.#call.emit({
      type: "effect.settled",
      tool: this.#call.traits.name,
      key,
      outcome: said.outcome,
      by,
    });
    if (said.outcome === "absent") return "absent";
    return { value: said.outcome === "done" ? this.replay(key, record) : this.#tell(key, record.reason) };
  }

  async #check(key: string): Promise<EffectAnswer> {
    const { check } = this.#call.traits;
    if (!check) return { outcome: "unknown" };
    try {
      return await check(this.#call.args as Record<string, unknown>, key);
    } catch (error) {
      if (isGraphBubbleUp(error)) throw error;
      this.#degraded(`the check failed: ${errorLine(error)}`);
      return { outcome: "unknown" };
    }
  }

  /** Whether a retryable error of the running claim may be tried again inside it. */
  async #recover(run: EffectRun, error: unknown): Promise<Recovery> {
    const { effect } = this.#call.traits;
    if (this.#call.config.signal?.aborted || !isTransient(error)) return "stop";
    if (effect === "key") return "again";
    if (effect !== "query") return "stop";
    if (this.#outcomeOf(error) === "not-done") return "again";
    const checked = await this.#check(run.key);
    if (checked.outcome === "absent") return "again";
    if (checked.outcome === "unknown") return "stop";
    const outcome = { ok: true, value: checked.result ?? null } as const;
    return { value: replay(this.#answered, outcome, { key: run.key, ageMs: 0 }) };
  }

  #outcomeOf(error: unknown): ErrorOutcome {
    const { traits, args, config } = this.#call;
    const said = traits.outcomeOf?.(error) ?? errorOutcome(error, args);
    // What a cancelled call says is no answer of the world, in whatever words.
    return said === "refused" && config.signal?.aborted ? "unknown" : said;
  }

  #burn(record: EffectRecord): void {
    if (this.#burnt === 0) this.#burnt = burnAnswers(this.#call, record);
  }

  #tell(key: string, reason: string | undefined): ToolMessage {
    return this.#answer(key, unknownMessage(this.#named(key), reason ?? "no outcome was recorded"));
  }

  #answer(key: string, message: ToolMessage): ToolMessage {
    if (!this.#call.answersCall) throw new EffectOpenError({ key, text: String(message.content) });
    return message;
  }

  get #answered() {
    const { traits, callId, answersCall } = this.#call;
    return { name: traits.name, callId, answersCall };
  }

  #named(key: string) {
    return { tool: this.#call.traits.name, callId: this.#call.callId, key };
  }

  #encode(value: unknown): Json {
    try {
      return encodeResult(value, this.#call.callId);
    } catch (error) {
      const what = error instanceof NotStorable ? error.message : errorLine(error);
      this.#degraded(`the result cannot be stored: ${what}`);
      return null;
    }
  }

  /**
   * The tool has ended: a ledger that fails now must not turn a done effect into an error. The claim stays, lapses, and reads as
   * unknown.
   */
  async #record(write: () => Promise<boolean>): Promise<void> {
    try {
      if (!(await write())) this.#degraded("settled by somebody else meanwhile");
    } catch (error) {
      this.#degraded(`not recorded: ${errorLine(error)}`);
    }
  }

  #degraded(reason: string): void {
    this.#call.emit({ type: "effect.degraded", tool: this.#call.traits.name, reason });
  }
}

/** One run of the body, which can ask for its own effect meanwhile. */
export function runOnce(
  call: GuardedCall,
  run: Pick<EffectRun, "key" | "attempt" | "progress" | "saveProgress">,
  attempt: number,
  once: RunOnce,
): Promise<unknown> {
  const { injectKey, name } = call.traits;
  const args = injectKey === undefined ? call.args : { ...(call.args as object), [injectKey]: run.key };
  const effect = {
    key: run.key,
    attempt: run.attempt + attempt - 1,
    get progress() {
      return run.progress;
    },
    saveProgress: (progress: Json) => run.saveProgress(progress),
  };
  return withCurrentEffect({ tool: name, callId: call.callId, effect }, () => once(args));
}

/** As a tool node words it, so that a replay reads like the first answer. */
function refusalText(error: unknown): string {
  return `${String(error)}\n Please fix your mistakes.`;
}
