// Child process of the crash bench. Waits for its job in a message, so that its start costs no time later; then works until it is killed.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { RunnableConfig } from "@langchain/core/runnables";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { loadNative } from "../saver/native.ts";
import { randomOf } from "../saver/words.ts";
import { artifactAt, KEEP_LAST, newId, sourceOf, THREADS, valuesAt, writeAt } from "./content.ts";
import { arm, type CrashPoint } from "./crash-points.ts";
import type { LogLine } from "./log.ts";
import { driverOf, type Place } from "./stores.ts";

export interface Job {
  readonly place: Place;
  readonly point: CrashPoint;
  readonly countdown: number;
  readonly seed: number;
}

await loadNative();
process.once("message", (job: Job) => void work(job));
process.send?.("loaded");

async function work({ place, point, countdown, seed }: Job): Promise<void> {
  const log = (line: LogLine) =>
    appendFileSync(join(place.folder, `log-${process.pid}.jsonl`), `${JSON.stringify(line)}\n`);
  const saver = new CompactSaver(arm(driverOf(place), point, countdown));
  const next = randomOf(seed);
  log({ is: "ready" });
  process.send?.("ready");
  for (let n = 1; ; n++) {
    const thread = THREADS[next() % THREADS.length] as string;
    const dice = next() % 100;
    if (dice < 72) await step(saver, thread, log, next() % 2 === 0);
    else if (dice < 78)
      await called(log, { call: "prune", thread }, () => saver.prune(thread, { keepLast: KEEP_LAST }));
    else if (dice < 80) await called(log, { call: "delete", thread }, () => saver.deleteThread(thread));
    else if (dice < 85) await raise(saver, thread, log);
    else if (dice < 90)
      await called(log, { call: "artifact", thread, n }, () =>
        saver.artifacts.put(thread, artifactAt(thread, n), { kind: "bench", label: `${n}` }),
      );
    else {
      const migrated = `migrated-${seed}-${next() % 3}`;
      const source = await sourceOf(migrated);
      await called(log, { call: "migrate", thread: migrated }, () => saver.migrateFrom(source, [migrated]));
    }
  }
}

type Called = LogLine extends infer L ? (L extends { is: "begin" | "done" } ? Omit<L, "is"> : never) : never;

async function called(
  log: (line: LogLine) => void,
  what: Called,
  run: () => Promise<unknown>,
): Promise<void> {
  log({ is: "begin", ...what } as LogLine);
  await run();
  log({ is: "done", ...what } as LogLine);
}

/** Goes on from the head: writes of two tasks, then the next checkpoint, which must not be there before them. */
async function step(
  saver: CompactSaver,
  thread: string,
  log: (line: LogLine) => void,
  isAwaited: boolean,
): Promise<void> {
  const root = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  const head = await saver.getTuple(root);
  const at = head?.metadata?.step ?? -1;
  const writes: Promise<void>[] = [];
  if (head)
    for (const task of [0, 1]) {
      const what = { call: "writes", thread, id: head.checkpoint.id, step: at, task } as const;
      writes.push(
        called(log, what, () =>
          saver.putWrites(head.config, [["list", writeAt(thread, at, task)]], `task-${task}`),
        ),
      );
    }
  if (isAwaited) await Promise.all(writes);
  const id = newId(at + 1);
  const versions = Object.fromEntries(
    Object.keys(valuesAt(thread, 0)).map((channel) => [channel, saver.getNextVersion(undefined)]),
  );
  const config: RunnableConfig = head?.config ?? root;
  const checkpoint = {
    ...emptyCheckpoint(),
    id,
    channel_values: valuesAt(thread, at + 1),
    channel_versions: versions,
  };
  await called(log, { call: "put", thread, id, step: at + 1 }, () =>
    saver.put(config, checkpoint, { source: "loop", step: at + 1, parents: {} }, versions),
  );
  await Promise.all(writes);
}

/** A counter, as a ledger would keep it. */
async function raise(saver: CompactSaver, thread: string, log: (line: LogLine) => void): Promise<void> {
  const key = { collection: "bench", thread: "", key: thread };
  const current = await saver.records.get(key);
  const n = Number(current?.value ?? 0) + 1;
  await called(log, { call: "record", thread, n }, () =>
    saver.records.compareAndSet(key, current?.version ?? null, n, { durable: n % 2 === 0 }),
  );
}
