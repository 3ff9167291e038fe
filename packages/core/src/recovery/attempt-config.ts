import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { RunControl } from "@langchain/langgraph";
import { ON_FORK } from "../effects/effect-guard.ts";
import { InvalidOptionsError } from "../errors.ts";
import type { ResumeNotice } from "../run/run-step.ts";

type Configurable = Readonly<Record<string, unknown>>;

/** The thread that a config names. @throws InvalidOptionsError when it names none, or one point of its history */
export function threadOf(config: RunnableConfig): {
  readonly threadId: string;
  readonly thread: RunnableConfig;
} {
  const configurable: Configurable = config.configurable ?? {};
  const { encoding } = config as { readonly encoding?: unknown };
  if (encoding !== undefined) {
    throw new InvalidOptionsError({
      option: "config.encoding",
      value: encoding,
      expected:
        "none: LangGraph writes errors into an encoded stream, and nobody would see them; encode the items yourself",
    });
  }
  const { thread_id: threadId, checkpoint_id: checkpointId, checkpoint_ns: namespace } = configurable;
  if (typeof threadId !== "string" || threadId === "") {
    throw new InvalidOptionsError({
      option: "config.configurable.thread_id",
      value: threadId,
      expected: "the id of the thread",
    });
  }
  if (checkpointId !== undefined || (namespace !== undefined && namespace !== "")) {
    throw new InvalidOptionsError({
      option: "config.configurable",
      value: checkpointId ?? namespace,
      expected:
        "without checkpoint_id and checkpoint_ns: supervision drives the newest checkpoint of a root graph",
    });
  }
  return { threadId, thread: { configurable: { ...configurable } } };
}

/**
 * The config of one attempt: the caller's, with what supervision adds.
 *
 * `configurable.longhaul_run` names the run for budgets; `longhaul_lease` carries the fencing token for savers that refuse
 * outdated writers; `longhaul_resume` is shown to the model once; `longhaul_on_fork` keeps effects from being done again behind a damaged checkpoint.
 */
export function attemptConfig(given: {
  readonly config: RunnableConfig;
  readonly resumed: boolean;
  readonly recursionLimit: number;
  readonly signal: AbortSignal;
  readonly control: RunControl;
  readonly meter: BaseCallbackHandler | undefined;
  readonly runId: string;
  readonly token: number;
  readonly note: ResumeNotice | undefined;
  readonly wentBack: boolean;
}): RunnableConfig {
  const { config, note, meter } = given;
  const { durability } = config as { durability?: string };
  return {
    ...config,
    // Unless the caller chose otherwise: what the graph says is done must be stored before the next step relies on it.
    ...{ durability: given.resumed ? "sync" : (durability ?? "sync") },
    ...{ control: given.control },
    recursionLimit: config.recursionLimit ?? given.recursionLimit,
    signal: given.signal,
    ...(meter ? { callbacks: withHandler(config.callbacks, meter) } : {}),
    configurable: {
      ...config.configurable,
      longhaul_run: given.runId,
      longhaul_lease: { token: given.token },
      ...(given.wentBack ? { [ON_FORK]: "replay" } : {}),
      ...(note ? { longhaul_resume: note } : {}),
    },
  };
}

function withHandler(
  callbacks: RunnableConfig["callbacks"],
  handler: BaseCallbackHandler,
): NonNullable<RunnableConfig["callbacks"]> {
  if (callbacks === undefined) return [handler];
  if (Array.isArray(callbacks)) return callbacks.includes(handler) ? callbacks : [...callbacks, handler];
  const manager = callbacks.copy();
  manager.addHandler(handler, true);
  return manager;
}
