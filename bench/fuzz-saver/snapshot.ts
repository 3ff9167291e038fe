import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { CompactSaver } from "@longhaul/checkpointer";
import { complaintAbout, type Wanted } from "./complaint.ts";

/** Everything that a sound store gives. */
export interface Snapshot {
  readonly tuples: readonly CheckpointTuple[];
  readonly heads: readonly { readonly config: RunnableConfig; readonly id: string }[];
  readonly records: readonly {
    readonly key: { readonly collection: string; readonly thread: string; readonly key: string };
    readonly value: unknown;
  }[];
  readonly artifacts: readonly { readonly thread: string; readonly ref: string; readonly content: string }[];
}

export async function snapshotOf(saver: CompactSaver): Promise<Snapshot> {
  const tuples: CheckpointTuple[] = [];
  const heads: Snapshot["heads"][number][] = [];
  const records: Snapshot["records"][number][] = [];
  const artifacts: Snapshot["artifacts"][number][] = [];
  for (const thread of ["t", "other"]) {
    for await (const tuple of saver.list({ configurable: { thread_id: thread } })) tuples.push(tuple);
    for (const namespace of ["", "child:1"]) {
      const config = { configurable: { thread_id: thread, checkpoint_ns: namespace } };
      heads.push({ config, id: (await saver.getTuple(config))?.checkpoint.id ?? "" });
    }
    for (const key of ["a", "b"]) {
      const at = { collection: "effects", thread, key };
      records.push({ key: at, value: (await saver.records.get(at))?.value });
    }
    for await (const { ref } of saver.artifacts.list(thread))
      artifacts.push({ thread, ref, content: (await saver.artifacts.get(thread, ref))?.content ?? "" });
  }
  return { tuples, heads, records, artifacts };
}

/** How a changed store answered. */
export interface Answers {
  /** Values that are not what was stored, untyped errors, errors without their place. */
  readonly wrong: string[];
  /** Reads that found nothing where something was. */
  readonly absent: string[];
  readonly errors: number;
}

/** Reads all of the snapshot again. */
export async function readAgain(
  saver: CompactSaver,
  { tuples, heads, records, artifacts }: Snapshot,
  wanted: Wanted,
): Promise<Answers> {
  const answers = { wrong: [] as string[], absent: [] as string[], errors: 0 };
  const reading = async <T>(
    what: string,
    run: () => Promise<T | undefined>,
    isRight: (value: T) => boolean,
    inError: Wanted,
  ) => {
    try {
      const value = await run();
      if (value === undefined) answers.absent.push(what);
      else if (!isRight(value)) answers.wrong.push(`${what} has another value`);
    } catch (error) {
      answers.errors += 1;
      const complaint = complaintAbout(error, inError);
      if (complaint) answers.wrong.push(`${what}: ${complaint}`);
    }
  };
  const withoutCheckpoint = { ...wanted, channel: false, checkpoint: false };
  for (const expected of tuples) {
    const { checkpoint_ns, thread_id } = expected.config.configurable ?? {};
    const what = `step ${expected.metadata?.step} of ${thread_id}/${checkpoint_ns}`;
    await reading(
      what,
      () => saver.getTuple(expected.config),
      (tuple) => {
        const lost = lostWrites(tuple, expected);
        if (lost > 0) answers.absent.push(`${what}, ${lost} of its pending writes,`);
        return isSame(lost > 0 ? { ...tuple, pendingWrites: expected.pendingWrites ?? [] } : tuple, expected);
      },
      wanted,
    );
  }
  for (const { config, id } of heads)
    await reading(
      `head of ${config.configurable?.thread_id}/${config.configurable?.checkpoint_ns}`,
      async () => {
        const tuple = await saver.getTuple(config);
        // an older one in place of the newest is as good as none
        return tuple?.checkpoint.id === id ? tuple : undefined;
      },
      () => true,
      wanted,
    );
  for (const { key, value } of records)
    await reading(
      `record ${key.thread}/${key.key}`,
      () => saver.records.get(key),
      (record) => isDeepStrictEqual(record.value, value),
      withoutCheckpoint,
    );
  for (const { thread, ref, content } of artifacts)
    await reading(
      `artifact ${ref} of ${thread}`,
      () => saver.artifacts.get(thread, ref),
      (artifact) => artifact.content === content,
      withoutCheckpoint,
    );
  return answers;
}

function isSame(a: CheckpointTuple, b: CheckpointTuple): boolean {
  return (
    isDeepStrictEqual(a.checkpoint, b.checkpoint) &&
    isDeepStrictEqual(a.metadata, b.metadata) &&
    isDeepStrictEqual(a.parentConfig, b.parentConfig) &&
    isDeepStrictEqual(a.pendingWrites, b.pendingWrites)
  );
}

/** No head lists its writes: one that cannot be found is missing without an error. 0 where what is there is no part of what was. */
function lostWrites(
  { pendingWrites = [] }: CheckpointTuple,
  { pendingWrites: all = [] }: CheckpointTuple,
): number {
  const isPart = pendingWrites.every((write) => all.some((other) => isDeepStrictEqual(write, other)));
  return isPart ? all.length - pendingWrites.length : 0;
}
