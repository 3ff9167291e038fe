import type { Json } from "../json/json.ts";
import { type GuardedCall, isResuming, threadOf } from "./call-site.ts";
import type { EffectKey } from "./effect-key.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import { errorLine } from "./error-outcome.ts";

/**
 * A call without an effect to guard. Nothing is recorded, unless the tool saves progress; that is looked for only where a run is
 * resumed, so that a plain read costs nothing.
 */
export class FreeEffect {
  readonly key: string;
  readonly attempt = 1;
  progress: Json | undefined;
  readonly #ledger: EffectLedger;
  readonly #call: GuardedCall;
  readonly #derived: EffectKey | undefined;
  #stored = false;

  private constructor(
    ledger: EffectLedger,
    call: GuardedCall,
    derived: EffectKey | undefined,
    newId: () => string,
  ) {
    this.#ledger = ledger;
    this.#call = call;
    this.#derived = derived;
    this.key = derived?.key ?? `lh-${newId()}`;
  }

  static async start(
    ledger: EffectLedger,
    call: GuardedCall,
    derived: EffectKey | undefined,
    newId: () => string,
  ): Promise<FreeEffect> {
    const free = new FreeEffect(ledger, call, derived, newId);
    if (derived && isResuming(call.config)) {
      try {
        const record = await ledger.read(threadOf(call.config), derived.key);
        free.progress = record?.progress;
        free.#stored = record !== undefined;
      } catch (error) {
        // A read does not need its old cursor: it begins anew.
        call.emit({ type: "effect.degraded", tool: call.traits.name, reason: errorLine(error) });
      }
    }
    return free;
  }

  async saveProgress(progress: Json): Promise<void> {
    if (this.#derived) {
      await this.#ledger.park(
        {
          thread: threadOf(this.#call.config),
          key: this.key,
          payload: this.#derived.payload,
          tool: this.#call.traits.name,
          args: null,
        },
        progress,
      );
      this.#stored = true;
    }
    this.progress = progress;
  }

  async end(): Promise<void> {
    if (this.#stored) await this.#ledger.forget(threadOf(this.#call.config), this.key);
  }
}
