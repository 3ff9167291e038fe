import { bytes, fact, ms, type Result, ratio } from "../bars.ts";
import { pgClient } from "../native.ts";
import { play } from "../recorded-run.ts";
import { medianMs, runChild } from "../run-child.ts";
import { type Address, differences } from "../same-tuples.ts";
import { answers, postgresStore, type StoreSpec, withSaver } from "../stores.ts";
import type { BenchContext, Work } from "../work.ts";
import { sameCounts } from "./agent-sqlite.ts";

export const agentPostgres: Work = {
  name: "postgres",
  title: "createAgent on Postgres, durability sync, against PostgresSaver",
  run,
};

async function* run(context: BenchContext): AsyncIterable<Result> {
  const { recorded, steps, slack, postgres } = context;
  if (!(await answers(postgres))) {
    yield { met: false, text: "no server answers; set TEST_POSTGRES_URL  MISSED" };
    return;
  }
  const recording = await recorded();
  const ours = postgresStore("CompactSaver", postgres);
  const theirs = postgresStore("PostgresSaver", postgres);
  try {
    const a = await withSaver(ours.spec, (saver) => play(recording, saver));
    const b = await withSaver(theirs.spec, (saver) => play(recording, saver));
    yield ratio("bytes of tables and indices", {
      ours: await ours.bytes(),
      theirs: await theirs.bytes(),
      bar: slack / 100,
      show: bytes,
    });
    yield ratio("time in put + putWrites", {
      ours: a.totalMs,
      theirs: b.totalMs,
      bar: slack / 10,
      show: ms,
    });
    yield fact(
      `ours p50 ${ms(a.p50Ms)}, p95 ${ms(a.p95Ms)}, max ${ms(a.maxMs)}; theirs p50 ${ms(b.p50Ms)}, p95 ${ms(b.p95Ms)}, max ${ms(b.maxMs)}`,
    );
    const [stateA, stateB] = await medianMs(
      3,
      () => runChild<{ ms: number; counts: number[] }>("state", ours.spec, steps),
      () => runChild<{ ms: number; counts: number[] }>("state", theirs.spec, steps),
    );
    yield* sameCounts(stateA?.last, stateB?.last);
    yield fact(
      `getState of the head in a new process: ${ms(stateA?.ms ?? Number.NaN)} against ${ms(stateB?.ms ?? Number.NaN)}`,
    );
    if (context.compare) yield await compared(ours.spec, theirs.spec);
  } finally {
    await Promise.all([ours, theirs].map((store) => store.remove()));
  }
}

async function compared(ours: StoreSpec, theirs: StoreSpec): Promise<Result> {
  const client = pgClient(theirs.target);
  await client.connect();
  const { rows } = await client.query(
    `SELECT checkpoint_ns AS namespace, checkpoint_id AS id FROM "${theirs.schema}".checkpoints ORDER BY checkpoint_id`,
  );
  await client.end();
  const found = await withSaver(theirs, (peer) =>
    withSaver(ours, (mine) => differences(peer, mine, rows as unknown as Address[], "bench")),
  );
  return {
    met: found.length === 0 && rows.length > 0,
    text: `${rows.length} checkpoints of the peer compared: ${found.length === 0 ? "all equal" : `${found.join("; ")}  MISSED`}`,
  };
}
