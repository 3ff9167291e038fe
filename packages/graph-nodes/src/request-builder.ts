import {
  askResetIfFull,
  contextFor,
  currentEmitter,
  memoryStorage,
  meterCallbacks,
  nodeConfig,
  type PreparedContext,
  prepareContext,
  profileWindow,
  resolveContextOptions,
  resolveProgressOptions,
  threadIdOf,
  withSystemDeps,
} from "@longhaul/core";
import type { LonghaulNodeState } from "./longhaul-state.ts";
import type { RequestOptions } from "./node-options.ts";
import { pendingNotices } from "./pending-notices.ts";

/** Prepares requests from the state; one for each node that does. @throws InvalidOptionsError */
export class RequestBuilder {
  readonly #options: RequestOptions;
  readonly #context: ReturnType<typeof resolveContextOptions>;
  readonly #progress: ReturnType<typeof resolveProgressOptions> | undefined;
  readonly #deps: ReturnType<typeof withSystemDeps>;
  readonly #artifacts: ReturnType<typeof memoryStorage>["artifacts"];

  constructor(options: RequestOptions) {
    const { context, progress, toolOptions } = options;
    this.#options = options;
    this.#progress = progress === false ? undefined : resolveProgressOptions(progress ?? {});
    this.#context = resolveContextOptions(contextFor({ context, progress, tools: toolOptions }));
    this.#deps = withSystemDeps(options.deps);
    this.#artifacts = (options.storage ?? memoryStorage(this.#deps)).artifacts;
  }

  /** View and channel updates of the next request; asks for a reset where the working layer is full. */
  async prepare(state: LonghaulNodeState): Promise<PreparedContext> {
    const { systemPrompt, tools = [], model, events, summarizer } = this.#options;
    const config = nodeConfig();
    const emit = currentEmitter(events, this.#deps.clock);
    const parts = { system: systemPrompt, tools, profileWindow: profileWindow(model) };
    const asked =
      this.#progress &&
      askResetIfFull(state, { progress: this.#progress, context: this.#context }, parts, emit);
    const notices = [...pendingNotices(state), ...(asked ? [asked.notice] : [])];
    const prepared = await prepareContext(
      { state, thread: threadIdOf(config), ...parts, notices },
      this.#context,
      {
        artifacts: this.#artifacts,
        summarizer,
        callbacks: meterCallbacks(),
        emit,
        deps: this.#deps,
        signal: config.signal,
      },
    );
    return asked ? withUpdate(prepared, { _longhaulProgress: asked.progress }) : prepared;
  }
}

function withUpdate(prepared: PreparedContext, update: PreparedContext["update"]): PreparedContext {
  return {
    view: prepared.view,
    update: { ...prepared.update, ...update },
    settle: (usage) => ({ ...prepared.settle(usage), ...update }),
    afterOverflow: async () => withUpdate(await prepared.afterOverflow(), update),
  };
}
