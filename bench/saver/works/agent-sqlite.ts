import { runAgent } from "../agent.ts";
import { atMost, bytes, fact, ms, type Result, ratio, times } from "../bars.ts";
import { sqliteFile } from "../native.ts";
import { play } from "../recorded-run.ts";
import { medianMs, runChild } from "../run-child.ts";
import { type Address, differences } from "../same-tuples.ts";
import { sqliteStore, withSaver } from "../stores.ts";
import type { BenchContext, Work } from "../work.ts";

interface Reading {
  readonly ms: number;
  readonly counts: readonly number[];
}

export const agentSqlite: Work = {
  name: "sqlite",
  title: "createAgent on SQLite, durability sync, against SqliteSaver",
  run,
};

async function* run({ recorded, steps, compare, slack }: BenchContext): AsyncIterable<Result> {
  const recording = await recorded();
  yield fact(
    `${steps} steps, ${recording.messages} messages, ${recording.tokens} tokens, ${recording.calls.length} calls of put and putWrites; deflate packs the contents ${times(recording.deflates)}`,
  );
  const ours = sqliteStore("CompactSaver");
  const theirs = sqliteStore("SqliteSaver");
  const delta = sqliteStore("SqliteSaver");
  try {
    const a = await withSaver(ours.spec, (saver) => play(recording, saver));
    const b = await withSaver(theirs.spec, (saver) => play(recording, saver));
    yield ratio("bytes on disk", {
      ours: await ours.bytes(),
      theirs: await theirs.bytes(),
      bar: slack / 300,
      show: bytes,
    });
    yield ratio("time in put + putWrites", {
      ours: a.totalMs,
      theirs: b.totalMs,
      bar: slack / 20,
      show: ms,
    });
    yield fact(
      `ours p50 ${ms(a.p50Ms)}, p95 ${ms(a.p95Ms)}, max ${ms(a.maxMs)}; theirs p50 ${ms(b.p50Ms)}, p95 ${ms(b.p95Ms)}, max ${ms(b.maxMs)}`,
    );
    yield atMost("last sixth of the steps ÷ first sixth, ours", {
      value: a.lastMs / a.firstMs,
      bar: 2 * slack,
      show: times,
    });
    yield fact(`the same of theirs: ${times(b.lastMs / b.firstMs)}`);
    const [stateA, stateB] = await medianMs(
      5,
      () => runChild<Reading>("state", ours.spec, steps),
      () => runChild<Reading>("state", theirs.spec, steps),
    );
    yield* sameCounts(stateA?.last, stateB?.last);
    yield ratio("getState of the head in a new process", {
      ours: stateA?.ms ?? Number.NaN,
      theirs: stateB?.ms ?? Number.NaN,
      bar: 0.7 * slack,
      show: ms,
    });
    const [historyA, historyB] = await medianMs(
      3,
      () => runChild<Reading>("history", ours.spec, steps),
      () => runChild<Reading>("history", theirs.spec, steps),
    );
    yield* sameCounts(historyA?.last, historyB?.last);
    yield ratio("getStateHistory of 10 in a new process", {
      ours: historyA?.ms ?? Number.NaN,
      theirs: historyB?.ms ?? Number.NaN,
      bar: 0.5 * slack,
      show: ms,
    });
    if (compare) yield await compared(ours.spec, theirs.spec);
    await withSaver(delta.spec, (saver) => runAgent(saver, steps, { delta: true }));
    const historyC = await runChild<Reading>("delta-history", delta.spec, steps);
    yield* sameCounts(historyA?.last, historyC);
    yield ratio("the same, SqliteSaver with MessagesDeltaValue", {
      ours: historyA?.ms ?? Number.NaN,
      theirs: historyC.ms,
      bar: slack / 50,
      show: ms,
    });
    yield fact(`bytes of SqliteSaver with MessagesDeltaValue: ${bytes(await delta.bytes())}`);
  } finally {
    await Promise.all([ours, theirs, delta].map((store) => store.remove()));
  }
}

/** Savers must have read the same. */
export function* sameCounts(a: Reading | undefined, b: Reading | undefined): Iterable<Result> {
  const [left, right] = [JSON.stringify(a?.counts), JSON.stringify(b?.counts)];
  if (left !== right || a?.counts.length === 0)
    yield { met: false, text: `message counts differ: ours ${left}, theirs ${right}  MISSED` };
}

async function compared(
  ours: Parameters<typeof withSaver>[0],
  theirs: Parameters<typeof withSaver>[0],
): Promise<Result> {
  const database = sqliteFile(theirs.target, { readonly: true });
  const addresses = database
    .prepare("SELECT checkpoint_ns AS namespace, checkpoint_id AS id FROM checkpoints ORDER BY checkpoint_id")
    .all() as unknown as Address[];
  database.close();
  const found = await withSaver(theirs, (peer) =>
    withSaver(ours, (mine) => differences(peer, mine, addresses, "bench")),
  );
  return {
    met: found.length === 0 && addresses.length > 0,
    text: `${addresses.length} checkpoints of the peer compared: ${found.length === 0 ? "all equal" : `${found.join("; ")}  MISSED`}`,
  };
}
