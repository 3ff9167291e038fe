import type { RunnableConfig } from "@langchain/core/runnables";
import type { StreamMode } from "@langchain/langgraph";
import { longhaulMeter } from "../budget/meter.ts";
import { type Deps, withSystemDeps } from "../clock.ts";
import { type Emit, emitter } from "../events/event.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import { memoryStorage } from "../storage/memory-storage.ts";
import { attemptConfig, threadOf } from "./attempt-config.ts";
import { watchDrain } from "./drain.ts";
import { keepLease } from "./lease-keeper.ts";
import { RunJournal } from "./run-journal.ts";
import { watchStopRequests } from "./stop-request.ts";
import { storageRetry } from "./storage-retry.ts";
import {
  type GraphDriver,
  graphDriver,
  type SupervisableGraph,
  superstepsPerStep,
} from "./supervisable-graph.ts";
import { resolveSuperviseOptions, type SuperviseOptions } from "./supervise-options.ts";
import type { SupervisedResult } from "./supervised-result.ts";
import { SupervisedThread } from "./supervised-thread.ts";
import { type RunAttempt, Supervision } from "./supervision.ts";
import { wholeStream } from "./whole-stream.ts";

/** State of a graph, as its `invoke` declares it. */
export type StateOf<G extends SupervisableGraph> = Awaited<ReturnType<G["invoke"]>>;

/**
 * Drives a graph to its end through failures and crashes.
 *
 * Call it with the same thread and the same input after the process died, and the run goes on where it stood: finished tool
 * calls are not made again, the input is not given twice, attempts are counted over all processes. It works with every
 * compiled graph, agent or `entrypoint` that has a checkpointer; what was done outside the graph once only is the matter of the effect
 * guard, not of this function.
 *
 * - **Input.** On an unfinished run, null or the admitted input resumes, `new Command({ resume })` answers an interrupt, and
 *   any other input is a new human message: calls that were cut are answered with an error result first. A run that ended as
 *   FAILED or NEEDS_HUMAN gives the same result again until a new message comes or `reopen` is set.
 * - **Failures.** Errors are classified ({@link diagnoseError}). Fatal ones end the run as FAILED, the others are resumed by
 *   `invoke(null)` with durability `sync` after 1, 5, 30 s, up to the caps; then the run is NEEDS_HUMAN, `recovery_limit`. A
 *   process that died counts as a failure of the step it stood at. The model gets a resume note.
 * - **Pauses.** Interrupts and breakpoints, `options.signal`, SIGTERM (`drained`), the config's signal (`cancelled`), `requestStop`
 *   from any process and a recursion limit (`step_limit`) give PAUSED; null goes on.
 * - **Cost.** For each attempt two reads of the head and two small writes; a lease renewal every `leaseMs / 3`, a read every
 *   `watchMs`.
 *
 * @returns every end of the run, failed ones too
 * @throws InvalidOptionsError, LeaseHeldError when another worker drives the thread, LeaseLostError when one took it over,
 * and errors of the storage that outlast the back-off
 */
export async function superviseRun<G extends SupervisableGraph>(
  graph: G,
  input: unknown,
  config: RunnableConfig,
  options: SuperviseOptions = {},
): Promise<SupervisedResult<StateOf<G>>> {
  const run = supervise(graph, input, config, options, invokeOnce);
  for (;;) {
    const { done, value } = await run.next();
    if (done) return value as SupervisedResult<StateOf<G>>;
  }
}

/** The config of a stream: what LangGraph's `stream` takes, but for `encoding`. */
export interface StreamConfig extends RunnableConfig {
  /** @default the graph's own, which is "updates" */
  readonly streamMode?: StreamMode | StreamMode[] | undefined;
  /** Items of subgraphs too, each item with its namespace. @default false */
  readonly subgraphs?: boolean | undefined;
  /** @default "sync" */
  readonly durability?: "sync" | "async" | "exit" | undefined;
}

/**
 * The same as a stream: yields what the graph's `stream` yields in the modes that the config asks for, over all attempts, and
 * returns the result.
 *
 * - **Items.** Each has the shape that LangGraph gives it, in its order. None is lost that came before a failure, however
 *   slowly you read; the graph does not wait for its reader, and what is unread is kept in memory.
 * - **After a failure** LangGraph streams again what it takes up again: `messages`, `custom` and `tools` of the tasks that were
 *   cut; `updates` of them, and once more of their finished siblings, marked `__metadata__: { cached: true }`; `tasks` of both;
 *   `values`, `checkpoints` and `debug` begin with the state that is resumed. `options.events` gets `recovery.resuming` before.
 * - **Leaving.** `break`, or `return()` at any time, stops the graph and gives the lease back before it is over: PAUSED,
 *   `cancelled`, unless the graph was done. Whoever neither reads on nor leaves keeps the lease.
 */
export function superviseStream<G extends SupervisableGraph>(
  graph: G,
  input: unknown,
  config: StreamConfig,
  options: SuperviseOptions = {},
): AsyncGenerator<unknown, SupervisedResult<StateOf<G>>> {
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, ...(config.signal ? [config.signal] : [])]);
  const run = supervise(graph, input, { ...config, signal }, options, wholeStream);
  const leave = run.return.bind(run);
  // By itself it would wait for the next item, or for the end of a back-off.
  run.return = (value) => {
    left.abort(new DOMException("Whoever read the stream stopped reading.", "AbortError"));
    return leave(value);
  };
  run.throw = async (error) => {
    await run.return(undefined as never);
    throw error;
  };
  return run as AsyncGenerator<unknown, SupervisedResult<StateOf<G>>>;
}

type RunOnce = (driver: GraphDriver, input: unknown, config: RunnableConfig) => AsyncIterable<unknown>;

// biome-ignore lint/correctness/useYield: an invoke has nothing to yield, and both faces share one loop
async function* invokeOnce(driver: GraphDriver, input: unknown, config: RunnableConfig) {
  await driver.invoke(input, config);
}

async function* supervise(
  graph: SupervisableGraph,
  input: unknown,
  config: RunnableConfig,
  given: SuperviseOptions,
  runOnce: RunOnce,
): AsyncGenerator<unknown, SupervisedResult> {
  const options = resolveSuperviseOptions(given);
  const { driver, saver } = graphDriver(graph);
  const { threadId, thread } = threadOf(config);
  const deps = withSystemDeps(given.deps);
  const emit = emitter(given.events, () => ({ time: deps.clock.now(), threadId, namespace: "" }));
  const storage = given.storage ?? defaultStorage(driver, deps);
  if (!storage.survivesProcess) warnOfMemory(emit);
  const lease = await keepLease(storage.leases, deps.clock, threadId, options.leaseMs);
  const { takenFrom, token } = lease;
  if (takenFrom) {
    emit({ type: "lease.taken-over", token, fromPid: takenFrom.owner.pid, dead: takenFrom.dead });
  }
  lease.lost.addEventListener("abort", () => emit({ type: "lease.lost", token }), { once: true });
  const drain = watchDrain({ signal: given.signal, sigterm: options.drainOnSigterm });
  const cancel = AbortSignal.any([drain.cancel, lease.lost, ...(config.signal ? [config.signal] : [])]);
  // Behind the budget's own limit, which ends the run with a last word; this one only throws.
  const recursionLimit = (options.steps + 5) * superstepsPerStep(graph);
  const meter = given.meter ?? longhaulMeter({ storage, budget: given.budget, events: given.events, deps });
  const attempt: RunAttempt = (run) =>
    runOnce(
      driver,
      run.input,
      attemptConfig({
        ...run,
        config,
        recursionLimit,
        token,
        signal: cancel,
        control: drain.control(),
        meter: meter || undefined,
      }),
    );
  const watching = new AbortController();
  const watch = watchStopRequests({
    runs: storage.runs,
    threadId,
    drain,
    clock: deps.clock,
    everyMs: options.watchMs,
    signal: watching.signal,
    onWish: (wish) => emit({ type: "recovery.stop-requested", wish }),
  }).catch(() => {
    // The sleep was aborted: closed.
  });
  try {
    const retry = storageRetry({ backoff: options.backoff, deps, signal: cancel });
    const shared = { threadId, options, deps, retry, emit };
    const supervision = new Supervision({
      thread: new SupervisedThread({ ...shared, config: thread, driver, saver, effects: storage.effects }),
      journal: new RunJournal({ ...shared, runs: storage.runs, token }),
      lease,
      drain,
      cancel,
      options,
      deps,
      emit,
      attempt,
    });
    return yield* supervision.drive(input);
  } finally {
    watching.abort();
    await watch;
    drain.close();
    await lease.close();
  }
}

/** A storage in memory belongs to its checkpointer, so that two calls on one graph see one run record. */
const inMemory = new WeakMap<object, LonghaulStorage>();

function defaultStorage(driver: GraphDriver, deps: Deps): LonghaulStorage {
  const saver = driver.checkpointer as object;
  if (isStorage(saver)) return saver;
  const storage = inMemory.get(saver) ?? memoryStorage(deps);
  inMemory.set(saver, storage);
  return storage;
}

function isStorage(value: object): value is LonghaulStorage {
  const { runs, leases, records } = value as Partial<LonghaulStorage>;
  return runs !== undefined && leases !== undefined && records !== undefined;
}

function warnOfMemory(emit: Emit): void {
  emit({
    type: "recovery.degraded",
    detail:
      "Run records and leases are in memory: after a crash attempts are not counted, and two processes may drive one " +
      "thread. Use a CompactSaver as the graph's checkpointer, or pass `storage`.",
  });
}
