import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { THREAD } from "../agent.ts";
import { atMost, bytes, fact, type Result, times } from "../bars.ts";
import { sqliteStore } from "../stores.ts";
import { noise } from "../words.ts";
import type { BenchContext, Work } from "../work.ts";

const STATIC_CHARS = 1_000_000;
const STEP_CHARS = 1_000;

export const staticChannel: Work = {
  name: "static",
  title: "C19: 1 MB that stays the same beside a growing list, both written at every step",
  run,
};

async function* run({ steps, slack }: BenchContext): AsyncIterable<Result> {
  const store = sqliteStore("CompactSaver");
  try {
    const saver = CompactSaver.fromConnString(store.spec.target);
    let parent: Parameters<typeof saver.put>[0] = THREAD;
    const messages: string[] = [];
    for (let step = 0; step < steps; step++) {
      messages.push(noise(step, STEP_CHARS));
      const versions = {
        files: saver.getNextVersion(undefined),
        messages: saver.getNextVersion(undefined),
      };
      parent = await saver.put(
        parent,
        {
          ...emptyCheckpoint(),
          id: uuid6(step),
          // made anew each time, as a node does that rewrites what it got
          channel_values: { files: { "a.bin": noise(99_999, STATIC_CHARS) }, messages: [...messages] },
          channel_versions: versions,
        },
        { source: "loop", step, parents: {} },
        versions,
      );
    }
    const head = (await saver.getTuple(THREAD))?.checkpoint.channel_values as
      | { messages?: string[] }
      | undefined;
    if (head?.messages?.length !== steps) yield { met: false, text: "the head is not what was put  MISSED" };
    await saver.end();
    const stored = await store.bytes();
    const data = STATIC_CHARS + steps * STEP_CHARS;
    yield fact(
      `${steps} steps; the data itself has ${bytes(data)}, all steps together ${bytes(steps * STATIC_CHARS)}`,
    );
    yield atMost(`stored bytes ÷ the data itself (${bytes(stored)})`, {
      value: stored / data,
      bar: 2 * slack,
      show: times,
    });
  } finally {
    await store.remove();
  }
}
