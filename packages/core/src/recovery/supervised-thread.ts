import type { ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Clock, Deps } from "../clock.ts";
import type { EffectLedger } from "../effects/effect-ledger.ts";
import type { Emit } from "../events/event.ts";
import { findSoundAncestor, type Head, isDamage, loadHead } from "./head.ts";
import { knownCalls } from "./known-calls.ts";
import { answerOpenCalls, type OpenCallReason } from "./open-calls.ts";
import { DamagedHeadError, MissingReferenceError } from "./recovery-errors.ts";
import type { RetryStorage } from "./storage-retry.ts";
import type { GraphDriver, SaverView } from "./supervisable-graph.ts";
import type { ResolvedSupervision } from "./supervise-options.ts";

/** Channels of what a task leaves that has not finished. */
const NO_RESULTS: ReadonlySet<string> = new Set(["__error__", "__interrupt__", "__resume__"]);

/** The graph's side of a supervised run: what is saved of the thread, and the few edits that recovery makes to it. */
export class SupervisedThread {
  readonly threadId: string;
  readonly #config: RunnableConfig;
  readonly #driver: GraphDriver;
  readonly #saver: SaverView;
  readonly #options: ResolvedSupervision;
  readonly #retry: RetryStorage;
  readonly #emit: Emit;
  readonly #effects: EffectLedger;
  readonly #clock: Clock;
  #wentBack = false;

  constructor(parts: {
    readonly threadId: string;
    readonly config: RunnableConfig;
    readonly driver: GraphDriver;
    readonly saver: SaverView;
    readonly options: ResolvedSupervision;
    readonly retry: RetryStorage;
    readonly emit: Emit;
    readonly effects: EffectLedger;
    readonly deps: Deps;
  }) {
    this.threadId = parts.threadId;
    this.#config = parts.config;
    this.#driver = parts.driver;
    this.#saver = parts.saver;
    this.#options = parts.options;
    this.#retry = parts.retry;
    this.#emit = parts.emit;
    this.#effects = parts.effects;
    this.#clock = parts.deps.clock;
  }

  /** Whether a damaged head was replaced by a copy of its ancestor. */
  get wentBack(): boolean {
    return this.#wentBack;
  }

  /** The newest checkpoint. @throws DamagedHeadError, and what the storage throws */
  async load(): Promise<Head> {
    try {
      return await this.#retry(() => loadHead(this.#driver, this.#saver, this.#config));
    } catch (error) {
      if (!isDamage(error)) throw error;
      throw new DamagedHeadError({
        threadId: this.threadId,
        reason: (error as Error).message,
        soundCheckpointId: await this.#retry(() => findSoundAncestor(this.#driver, this.#config)),
        cause: error,
      });
    }
  }

  /** The newest checkpoint, or a copy of its nearest sound ancestor where the options allow that. */
  async loadSound(): Promise<Head> {
    try {
      return await this.load();
    } catch (error) {
      const sound = DamagedHeadError.isInstance(error) ? error.soundCheckpointId : undefined;
      if (this.#options.onDamagedHead === "fail" || sound === undefined) throw error;
      const ancestor = { configurable: { ...this.#config.configurable, checkpoint_id: sound } };
      // The copy becomes the head, marked as a fork; the damaged checkpoint stays for whoever looks into it.
      await this.#retry(() => this.#driver.updateState(ancestor, null, "__copy__"));
      this.#wentBack = true;
      const head = await this.load();
      this.#emit({ type: "checkpoint.damaged", reason: (error as Error).message, usedCheckpointId: sound });
      return head;
    }
  }

  /** How many tasks of the unfinished superstep have stored a result. Cost: one read. */
  async finishedTasks(): Promise<number> {
    const tuple = await this.#retry(() => this.#saver.getTuple(this.#config));
    const results = (tuple?.pendingWrites ?? []).filter(([, channel]) => !NO_RESULTS.has(channel));
    return new Set(results.map(([task]) => task)).size;
  }

  /** @throws MissingReferenceError */
  async checkReferences(head: Head): Promise<void> {
    const missing = (await Promise.all(this.#options.references.map((check) => check(head.values)))).flat();
    if (missing.length > 0) throw new MissingReferenceError({ missing });
  }

  /**
   * Answers the calls that the unfinished step left open, as the node that was to do so and without a checkpoint id: so
   * LangGraph keeps the results of finished siblings.
   */
  async closeCalls(head: Head, reason: OpenCallReason, detail?: string): Promise<Head> {
    const messages = await this.answersFor(head, reason, detail);
    await this.#retry(() => this.#driver.updateState(this.#config, { messages }, head.pending[0]));
    return this.load();
  }

  /** Answers to the calls that a step left open, by what the effect ledger knows of them. */
  async answersFor(head: Head, reason: OpenCallReason, detail?: string): Promise<ToolMessage[]> {
    const { checkpointId, dangling } = head;
    const known = await this.#retry(() => knownCalls(this.#effects, this.threadId, checkpointId, dangling));
    return answerOpenCalls(dangling, { reason, detail, known, now: this.#clock.now() });
  }

  /** Makes a finished graph begin once more, without an input. */
  async reenter(): Promise<void> {
    await this.#retry(() => this.#driver.updateState(this.#config, {}, "__start__"));
  }
}
