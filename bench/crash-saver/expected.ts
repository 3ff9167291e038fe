import { isDeepStrictEqual } from "node:util";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { CompactSaver } from "@longhaul/checkpointer";
import {
  artifactAt,
  KEEP_LAST,
  MIGRATED_STEPS,
  migratedId,
  plainValuesAt,
  sourceOf,
  valuesAt,
  writeAt,
} from "./content.ts";
import type { LogLine } from "./log.ts";

interface Known {
  readonly step: number;
  /** Must it be there, or may it be? */
  must: boolean;
  /** Tasks whose writes were begun; true: acknowledged. */
  readonly writes: Map<number, boolean>;
}

/** What a store must hold after all that was acknowledged on it. */
export class Expected {
  /** In the order of their puts. */
  readonly #threads = new Map<string, Map<string, Known>>();
  readonly #records = new Map<string, { done: number; begun: number }>();
  readonly #artifacts = new Map<string, Set<number>>();
  readonly #migrated = new Map<string, boolean>();
  /** Deletion under way when the process died. */
  #deleting: string | undefined;

  follow(line: LogLine): void {
    if (line.is === "ready") return;
    const isDone = line.is === "done";
    const thread = this.#thread(line.thread);
    switch (line.call) {
      case "put":
        if (isDone) (thread.get(line.id) as Known).must = true;
        else thread.set(line.id, { step: line.step, must: false, writes: new Map() });
        return;
      case "writes":
        thread.get(line.id)?.writes.set(line.task, isDone);
        return;
      case "prune": {
        const newest = [...thread.keys()].slice(-KEEP_LAST);
        for (const [id, known] of thread) if (!newest.includes(id)) known.must = false;
        return;
      }
      case "delete":
        this.#deleting = isDone ? undefined : line.thread;
        if (isDone) {
          thread.clear();
          this.#artifacts.delete(line.thread);
        }
        return;
      case "migrate":
        if (isDone || !this.#migrated.has(line.thread)) this.#migrated.set(line.thread, isDone);
        return;
      case "record": {
        const known = this.#records.get(line.thread) ?? { done: 0, begun: 0 };
        this.#records.set(line.thread, isDone ? { ...known, done: line.n } : { ...known, begun: line.n });
        return;
      }
      case "artifact":
        if (!isDone) return;
        this.#artifacts.set(line.thread, (this.#artifacts.get(line.thread) ?? new Set()).add(line.n));
    }
  }

  /** Compares with what is stored, and takes what was in doubt as it is. @returns what is wrong */
  async check(saver: CompactSaver): Promise<string[]> {
    const wrong: string[] = [];
    const report = await saver.verify();
    for (const problem of report.problems) wrong.push(`verify: ${JSON.stringify(problem)}`);
    for (const [thread, known] of this.#threads)
      if (!this.#migrated.has(thread)) await this.#checkThread(saver, thread, known, wrong);
    this.#deleting = undefined;
    for (const [thread, isWhole] of this.#migrated) await this.#checkMigrated(saver, thread, isWhole, wrong);
    for (const [thread, { done, begun }] of this.#records) {
      const value = Number(
        (await saver.records.get({ collection: "bench", thread: "", key: thread }))?.value ?? 0,
      );
      if (value < done || value > begun)
        wrong.push(`record of ${thread} is ${value}, ${done} was acknowledged`);
      this.#records.set(thread, { done: value, begun: value });
    }
    return wrong;
  }

  async #checkThread(
    saver: CompactSaver,
    thread: string,
    known: Map<string, Known>,
    wrong: string[],
  ): Promise<void> {
    const stored = new Map<string, CheckpointTuple>();
    for await (const tuple of saver.list({ configurable: { thread_id: thread } }))
      stored.set(tuple.checkpoint.id, tuple);
    const artifacts = new Set<string>();
    for await (const { ref } of saver.artifacts.list(thread))
      artifacts.add((await saver.artifacts.get(thread, ref))?.content ?? "");
    // deleted whole, or not at all
    const isDeleted = this.#deleting === thread && stored.size === 0;
    if (isDeleted) {
      if (artifacts.size > 0) wrong.push(`${thread}: deleted, but ${artifacts.size} artifacts are left`);
      known.clear();
      this.#artifacts.delete(thread);
    }
    for (const [id, { step, must, writes }] of known) {
      const tuple = stored.get(id);
      if (!tuple) {
        if (must) wrong.push(`${thread}: step ${step} was acknowledged and is gone`);
        known.delete(id);
        continue;
      }
      if (!isDeepStrictEqual(tuple.checkpoint.channel_values, valuesAt(thread, step)))
        wrong.push(`${thread}: step ${step} has other values`);
      checkWrites(tuple, thread, step, writes, wrong);
      (known.get(id) as Known).must = true;
    }
    for (const [id, tuple] of stored) {
      if (!known.has(id))
        wrong.push(`${thread}: ${id} (step ${tuple.metadata?.step}) is there and should not be`);
      const parent = tuple.parentConfig?.configurable?.checkpoint_id as string | undefined;
      // it was put after its parent's writes, so it cannot be there without them
      for (const [task] of known.get(parent ?? "")?.writes ?? [])
        if (!stored.get(parent ?? "")?.pendingWrites?.some(([id]) => id === `task-${task}`))
          wrong.push(`${thread}: a checkpoint is there before the writes of task ${task} of its parent`);
    }
    const newest = [...known.keys()].at(-1);
    const head = (await saver.getTuple({ configurable: { thread_id: thread } }))?.checkpoint.id;
    if (head !== newest) wrong.push(`${thread}: the head is ${head}, not ${newest}`);
    for (const n of this.#artifacts.get(thread) ?? [])
      if (!artifacts.has(artifactAt(thread, n))) wrong.push(`${thread}: artifact ${n} is gone`);
  }

  /** Called again, an interrupted migration must end with all there is. */
  async #checkMigrated(
    saver: CompactSaver,
    thread: string,
    isWhole: boolean,
    wrong: string[],
  ): Promise<void> {
    if (!isWhole) {
      const report = await saver.migrateFrom(await sourceOf(thread), [thread]);
      for (const { error } of report.problems) wrong.push(`${thread}: ${error}`);
      this.#migrated.set(thread, true);
    }
    for (let step = 0; step < MIGRATED_STEPS; step++) {
      const config = {
        configurable: { thread_id: thread, checkpoint_ns: "", checkpoint_id: migratedId(step) },
      };
      const tuple = await saver.getTuple(config);
      if (!tuple) wrong.push(`${thread}: step ${step} was not taken over`);
      else if (!isDeepStrictEqual(tuple.checkpoint.channel_values, plainValuesAt(thread, step)))
        wrong.push(`${thread}: step ${step} has other values`);
      else checkWrites(tuple, thread, step, new Map([[0, true]]), wrong);
    }
  }

  #thread(name: string): Map<string, Known> {
    const thread = this.#threads.get(name) ?? new Map<string, Known>();
    this.#threads.set(name, thread);
    return thread;
  }
}

function checkWrites(
  { pendingWrites = [] }: CheckpointTuple,
  thread: string,
  step: number,
  writes: ReadonlyMap<number, boolean>,
  wrong: string[],
): void {
  for (const [task, isDone] of writes)
    if (isDone && !pendingWrites.some(([id]) => id === `task-${task}`))
      wrong.push(`${thread}: writes of task ${task} at step ${step} were acknowledged and are gone`);
  for (const [task, , value] of pendingWrites)
    if (!isDeepStrictEqual(value, writeAt(thread, step, Number(task.slice(5)))))
      wrong.push(`${thread}: a write of ${task} at step ${step} has another value`);
}
