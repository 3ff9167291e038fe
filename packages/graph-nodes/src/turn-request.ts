import type { BaseMessage } from "@langchain/core/messages";
import { calibrate, type LonghaulValues, type PreparedContext, readMemoryState } from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";
import type { RequestBuilder } from "./request-builder.ts";

/** The request of one model turn: the one that `contextNode` left, or built here when there is none, as after a resume. */
export class TurnRequest {
  readonly #state: LonghaulNodeState;
  readonly #builder: RequestBuilder;
  #prepared: PreparedContext | undefined;

  constructor(state: LonghaulNodeState, builder: RequestBuilder) {
    this.#state = state;
    this.#builder = builder;
  }

  async messages(): Promise<readonly BaseMessage[]> {
    if (!this.#prepared && this.#state.longhaulRequest) return this.#state.longhaulRequest.messages;
    this.#prepared ??= await this.#builder.prepare(this.#state);
    return this.#prepared.view.messages;
  }

  /** The provider found it too long. */
  async shrink(): Promise<void> {
    const prepared = this.#prepared ?? (await this.#builder.prepare(this.#state));
    this.#prepared = await prepared.afterOverflow();
  }

  /** What the turn changes in the context's channels, with the token measure calibrated by the usage reported. */
  settle(usage: unknown): LonghaulValues {
    if (this.#prepared) return this.#prepared.settle(usage);
    const memory = readMemoryState(this.#state._longhaulMemory);
    const calibration = calibrate(memory.calibration, this.#state.longhaulRequest?.estimated ?? 0, usage);
    return calibration === memory.calibration ? {} : { _longhaulMemory: { ...memory, calibration } };
  }
}
