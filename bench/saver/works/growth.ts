import { atMost, bytes, type Result, times } from "../bars.ts";
import { play, type RecordedRun, recordRun } from "../recorded-run.ts";
import { sqliteStore, withSaver } from "../stores.ts";
import type { BenchContext, Work } from "../work.ts";

export const growth: Work = {
  name: "growth",
  title: "bytes on SQLite at ten times the steps",
  run,
};

/** 100 and 1,000 at full size. */
async function* run({ steps, slack }: BenchContext): AsyncIterable<Result> {
  const few = Math.max(5, Math.round(steps / 3));
  const long = await recordRun(few * 10);
  const short = { ...long, steps: few, calls: long.calls.filter(({ step }) => step < few) };
  const [a, b] = [await bytesOf(short), await bytesOf(long)];
  yield atMost(`bytes at ${long.steps} steps ÷ bytes at ${few} (${bytes(b)}, ${bytes(a)})`, {
    value: b / a,
    bar: 11 * slack,
    show: times,
  });
}

async function bytesOf(run: RecordedRun): Promise<number> {
  const store = sqliteStore("CompactSaver");
  try {
    await withSaver(store.spec, (saver) => play(run, saver));
    return await store.bytes();
  } finally {
    await store.remove();
  }
}
