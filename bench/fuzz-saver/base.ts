import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ERROR, emptyCheckpoint, INTERRUPT, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { prose, randomOf } from "../saver/words.ts";

/** Two threads with a child namespace, all kinds of rows, and values that JSON would not keep. */
export async function fill(target: string): Promise<void> {
  const saver = CompactSaver.fromConnString(target);
  for (const [t, thread] of ["t", "other"].entries()) {
    await chain(saver, thread, "", 6, t * 100);
    await chain(saver, thread, "child:1", 2, t * 100 + 50);
    for (const key of ["a", "b"])
      await saver.records.compareAndSet(
        { collection: "effects", thread, key },
        null,
        { key, of: thread, text: prose(t, 300) },
        key === "a" ? {} : { expiresAt: Date.now() + 1e9 },
      );
    for (const n of [1, 2])
      await saver.artifacts.put(thread, `${thread} ${n} ${prose(n, 1_500)}`, { kind: "k", label: `l${n}` });
    await saver.mark({ configurable: { thread_id: thread } }, "milestone");
  }
  await saver.end();
}

async function chain(
  saver: CompactSaver,
  thread: string,
  namespace: string,
  steps: number,
  seed: number,
): Promise<void> {
  let parent = { configurable: { thread_id: thread, checkpoint_ns: namespace } };
  const messages: unknown[] = [];
  for (let step = 0; step < steps; step++) {
    messages.push(
      new HumanMessage({ id: `h${step}`, content: prose(seed + step, 700) }),
      new AIMessage({
        id: `a${step}`,
        content: "short",
        tool_calls: [{ id: `c${step}`, name: "look", args: { n: step } }],
      }),
      new ToolMessage({ id: `t${step}`, tool_call_id: `c${step}`, content: prose(seed + step + 20, 1_500) }),
    );
    const values: Record<string, unknown> = {
      messages: [...messages],
      note: `note ${step}`,
      odd: { at: new Date(step), map: new Map([["k", 1n]]), minus: -0, none: undefined },
      bytes: Uint8Array.from({ length: 3_000 }, (_, i) => (i * (step + 1)) & 255),
    };
    const versions = Object.fromEntries(
      Object.keys(values).map((channel) => [channel, saver.getNextVersion(undefined)]),
    );
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: values,
      channel_versions: versions,
    };
    const metadata = { source: "loop" as const, step, parents: {} };
    parent = (await saver.put(parent, checkpoint, metadata, versions)) as typeof parent;
    const writes: [string, unknown][] = [
      ["messages", messages.at(-1)],
      ["note", `w${step}`],
    ];
    await saver.putWrites(parent, writes, "task-1", "~path");
    const special = step % 2 ? ERROR : INTERRUPT;
    await saver.putWrites(parent, [[special, { why: prose(seed + step, 100) }]], "task-2");
  }
}

/** Choices drawn from a seed. */
export class Draw {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = randomOf(seed);
  }

  below(n: number): number {
    return this.#next() % Math.max(1, n);
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  bytes(n: number): Buffer {
    return Buffer.from(Array.from({ length: n }, () => this.below(256)));
  }
}
