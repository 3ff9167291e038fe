import {
  askForReset,
  askNotice,
  foldPressure,
  type LonghaulValues,
  memoryStorage,
  meterCallbacks,
  type Notice,
  type PreparedContext,
  prepareContext,
  readProgress,
  resolveContextOptions,
  resolveProgressOptions,
  withSystemDeps,
} from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";
import { nodeConfig, nodeEmitter, type RequestOptions, threadOf } from "./node-options.ts";

/** Prepares requests from the state; one for each node that does. @throws InvalidOptionsError */
export class RequestBuilder {
  readonly #options: RequestOptions;
  readonly #context: ReturnType<typeof resolveContextOptions>;
  readonly #progress: ReturnType<typeof resolveProgressOptions> | undefined;
  readonly #deps: ReturnType<typeof withSystemDeps>;
  readonly #artifacts: ReturnType<typeof memoryStorage>["artifacts"];

  constructor(options: RequestOptions) {
    this.#options = options;
    this.#progress = options.progress === false ? undefined : resolveProgressOptions(options.progress ?? {});
    this.#context = resolveContextOptions({ askReset: this.#progress !== undefined, ...options.context });
    this.#deps = withSystemDeps(options.deps);
    this.#artifacts = (options.storage ?? memoryStorage(this.#deps)).artifacts;
  }

  /** View and channel updates of the next request; asks for a reset where the working layer is full. */
  async prepare(
    state: LonghaulNodeState,
  ): Promise<{ readonly prepared: PreparedContext; readonly update: LonghaulValues }> {
    const config = nodeConfig();
    const emit = nodeEmitter(this.#options, this.#deps);
    const { notices, progress } = this.#ask(state);
    const prepared = await prepareContext(
      {
        state,
        thread: threadOf(config),
        ...this.#parts(),
        notices: [...(state._longhaulNotices?.notices ?? []), ...notices],
      },
      this.#context,
      {
        artifacts: this.#artifacts,
        summarizer: this.#options.summarizer,
        callbacks: meterCallbacks(),
        emit,
        deps: this.#deps,
        signal: config.signal,
      },
    );
    return { prepared, update: { ...prepared.update, ...(progress ? { _longhaulProgress: progress } : {}) } };
  }

  #ask(state: LonghaulNodeState): { notices: Notice[]; progress?: LonghaulValues["_longhaulProgress"] } {
    if (!this.#progress) return { notices: [] };
    const progress = readProgress(state._longhaulProgress);
    const pressure = foldPressure(state, this.#context, this.#parts());
    const asked = askForReset(progress, pressure);
    if (!asked) return { notices: [] };
    nodeEmitter(
      this.#options,
      this.#deps,
    )({
      type: "reset.asked",
      times: asked.times,
      workingTokens: pressure.workingTokens,
    });
    return { notices: [askNotice(this.#progress)], progress: { ...progress, asked } };
  }

  #parts() {
    const { systemPrompt, tools, model } = this.#options;
    const window = (model as { profile?: { maxInputTokens?: unknown } } | undefined)?.profile?.maxInputTokens;
    return {
      system: systemPrompt,
      tools: tools ?? [],
      profileWindow: typeof window === "number" && window > 0 ? window : undefined,
    };
  }
}
