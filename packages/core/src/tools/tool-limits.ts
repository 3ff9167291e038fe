import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Deps } from "../clock.ts";
import type { GuardedCall } from "../effects/call-site.ts";
import type { Retry } from "../effects/effect-execution.ts";
import { errorLine } from "../effects/error-outcome.ts";
import { InvalidOptionsError } from "../errors.ts";
import { withDeadline } from "./deadline.ts";
import { Semaphore } from "./semaphore.ts";
import { ToolTimeoutError } from "./tool-errors.ts";
import { retryAfterMs } from "./transient-error.ts";

/** Limits of all tools; `ToolOptions` has those of one. */
export interface ToolLimitOptions {
  /** Milliseconds for one attempt, at least 1; false: none. The clock starts when the tool does. @default 60,000 */
  readonly timeoutMs?: number | false | undefined;
  /** Further attempts after a retryable error, at least 0; only tools of effect none, key or query. @default 2 */
  readonly retries?: number | undefined;
  /** Milliseconds before the first retry, doubled each time, ±20 %; what the server asks for comes first. @default 1,000 */
  readonly backoffMs?: number | undefined;
  /** Tools of one guard that run at once, at least 1; tools that call agents do not count. @default 4 */
  readonly concurrency?: number | undefined;
}

/** A server that asks for a longer pause is left to the model. */
const LONGEST_PAUSE_MS = 60_000;

/** Time-out, retry and concurrency of tool calls. One instance is one pool of slots. */
export class ToolLimits {
  readonly #timeoutMs: number | false;
  readonly #retries: number;
  readonly #backoffMs: number;
  readonly #slots: Semaphore;
  readonly #deps: Deps;

  /** @throws InvalidOptionsError */
  constructor(options: ToolLimitOptions, deps: Deps) {
    this.#timeoutMs = options.timeoutMs ?? 60_000;
    this.#retries = options.retries ?? 2;
    this.#backoffMs = options.backoffMs ?? 1_000;
    const concurrency = options.concurrency ?? 4;
    if (this.#timeoutMs !== false) check("timeoutMs", this.#timeoutMs, this.#timeoutMs >= 1, "at least 1 ms");
    check(
      "retries",
      this.#retries,
      Number.isInteger(this.#retries) && this.#retries >= 0,
      "a whole number from 0",
    );
    check("backoffMs", this.#backoffMs, this.#backoffMs >= 0, "at least 0 ms");
    check(
      "concurrency",
      concurrency,
      Number.isInteger(concurrency) && concurrency >= 1,
      "a whole number from 1",
    );
    this.#slots = new Semaphore(concurrency);
    this.#deps = deps;
  }

  /** Waits for a slot. An agent's call takes none: its own tools would wait for it for ever. */
  inSlot<T>(call: GuardedCall, work: () => Promise<T>): Promise<T> {
    return call.traits.callsAgent ? work() : this.#slots.run(work, call.config.signal);
  }

  /** One attempt; its signal aborts at the time-out and with the run's own. */
  async timed<T>(call: GuardedCall, work: (signal: AbortSignal | undefined) => Promise<T>): Promise<T> {
    const { traits, config, emit } = call;
    const timeoutMs = traits.timeoutMs ?? (traits.callsAgent ? false : this.#timeoutMs);
    if (timeoutMs === false) return work(config.signal);
    const late = () => {
      emit({ type: "tool.timed-out", tool: traits.name, timeoutMs });
      return new ToolTimeoutError({ tool: traits.name, timeoutMs });
    };
    // What a tool that ignores its signal does later is unknown all the same.
    return withDeadline({ clock: this.#deps.clock, timeoutMs, signal: config.signal, late }, work);
  }

  retry(call: GuardedCall): Retry {
    const { traits, config, emit } = call;
    const retries = traits.retries ?? this.#retries;
    return async (once, recover) => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await once(attempt);
        } catch (error) {
          if (attempt > retries || isGraphBubbleUp(error)) throw error;
          const pause = this.#pauseAfter(error, attempt);
          if (pause > LONGEST_PAUSE_MS) throw error;
          const said = await recover(error);
          if (said === "stop") throw error;
          if (said !== "again") return said.value;
          emit({
            type: "tool.retried",
            tool: traits.name,
            attempt: attempt + 1,
            delayMs: pause,
            reason: errorLine(error),
          });
          await this.#deps.clock.sleep(pause, { signal: config.signal });
        }
      }
    };
  }

  #pauseAfter(error: unknown, attempt: number): number {
    const asked = retryAfterMs(error, this.#deps.clock.now());
    return asked ?? Math.round(this.#backoffMs * 2 ** (attempt - 1) * (0.8 + 0.4 * this.#deps.random()));
  }
}

function check(option: string, value: unknown, holds: boolean, expected: string): void {
  if (!holds) throw new InvalidOptionsError({ option: `toolGuard.${option}`, value, expected });
}
