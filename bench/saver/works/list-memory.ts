import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { THREAD } from "../agent.ts";
import { atMost, bytes, fact, ms, type Result, ratio, times } from "../bars.ts";
import { runChild } from "../run-child.ts";
import { type StoreSpec, sqliteStore, withSaver } from "../stores.ts";
import { prose } from "../words.ts";
import type { BenchContext, Work } from "../work.ts";

/** At 300 steps. */
const CHECKPOINTS = 10_000;
const CHARS = 20_000;
/** Most that may be alive in the second half of the list, over the first. */
const FLAT = 1.3;

interface Listing {
  readonly firstMs: number;
  readonly allMs: number;
  readonly rows: number;
  /** At sixteen moments. */
  readonly aliveBytes: readonly number[];
}

export const listMemory: Work = {
  name: "list",
  title: "list over 10,000 checkpoints of 20 KB each, against SqliteSaver",
  run,
};

async function* run({ steps, slack }: BenchContext): AsyncIterable<Result> {
  const count = Math.max(200, Math.round((CHECKPOINTS * steps) / 300));
  const ours = sqliteStore("CompactSaver");
  const theirs = sqliteStore("SqliteSaver");
  try {
    await fill(ours.spec, count);
    await fill(theirs.spec, count);
    const a = await runChild<Listing>("list", ours.spec, count);
    const b = await runChild<Listing>("list", theirs.spec, count);
    yield fact(
      `${count} checkpoints, ${bytes(await ours.bytes())} against ${bytes(await theirs.bytes())} on disk`,
    );
    if (a.rows !== count || b.rows !== count)
      yield { met: false, text: `rows listed: ours ${a.rows}, theirs ${b.rows}, put ${count}  MISSED` };
    yield ratio("time to the first row", {
      ours: a.firstMs,
      theirs: b.firstMs,
      bar: (slack / 5) * Math.max(1, CHECKPOINTS / count / 4),
      show: ms,
    });
    // a short list fits into what is remembered of chunks
    if (count === CHECKPOINTS)
      yield ratio("most memory alive while listing", {
        ours: Math.max(...a.aliveBytes),
        theirs: Math.max(...b.aliveBytes),
        bar: slack / 5,
        show: bytes,
      });
    const most = (from: number, to: number) => Math.max(...a.aliveBytes.slice(from, to));
    yield atMost("most memory alive in the second half ÷ in the first, ours", {
      value: most(8, 16) / most(0, 8),
      bar: count === CHECKPOINTS ? FLAT * slack : 4,
      show: times,
    });
    yield fact(`all rows ${ms(a.allMs)} against ${ms(b.allMs)}`);
  } finally {
    await Promise.all([ours, theirs].map((store) => store.remove()));
  }
}

function fill(spec: StoreSpec, count: number): Promise<void> {
  return withSaver(spec, async (saver) => {
    let parent: Parameters<typeof saver.put>[0] = THREAD;
    for (let step = 0; step < count; step++) {
      const versions = { text: step + 1 };
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(step),
        channel_values: { text: prose(step, CHARS) },
        channel_versions: versions,
      };
      parent = await saver.put(parent, checkpoint, { source: "loop", step, parents: {} }, versions);
    }
  });
}
