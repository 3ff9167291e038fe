// Child process of the process tests: node --import tsx worker.ts <what> <file> <name>
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";

const [, , what, path = "", name = ""] = process.argv;
const keyPrefix = process.env.WORKER_KEY_PREFIX || "longhaul";
const saver = CompactSaver.fromConnString(path, { redis: { keyPrefix } });
const meta = { source: "loop" as const, step: 0, parents: {} };

if (what === "write") {
  await saver.setup();
  let config = await saver.put(
    { configurable: { thread_id: `thread-${name}` } },
    { ...emptyCheckpoint(), id: uuid6(-1) },
    meta,
    {},
  );
  for (let step = 0; step < 50; step++) {
    const version = saver.getNextVersion(undefined);
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: { list: Array.from({ length: step }, (_, i) => `${name} ${i}`) },
      channel_versions: { list: version },
    };
    config = await saver.put(config, checkpoint, meta, { list: version });
    await Promise.all(
      [0, 1, 2].map((task) => saver.putWrites(config, [["list", [`${step} ${task}`]]], `task-${task}`)),
    );
    for (;;) {
      const key = { collection: "shared", thread: "", key: "counter" };
      const current = await saver.records.get(key);
      const next = Number(current?.value ?? 0) + 1;
      if (
        (await saver.records.compareAndSet(key, current?.version ?? null, next, { durable: step % 10 === 0 }))
          .ok
      )
        break;
    }
  }
  await saver.end();
} else if (what === "runs") {
  // many short threads, the next as soon as one has ended
  await saver.setup();
  const runs = Number(process.argv[5]);
  for (let run = 0; run < runs; run++) {
    const version = saver.getNextVersion(undefined);
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(run),
      channel_values: { text: `${name} ${run}` },
      channel_versions: { text: version },
    };
    const thread = { configurable: { thread_id: `${name}-${run}` } };
    const config = await saver.put(thread, checkpoint, meta, { text: version });
    await Promise.all([0, 1, 2].map((task) => saver.putWrites(config, [["text", task]], `task-${task}`)));
  }
  await saver.end();
} else if (what === "read") {
  // holds a transaction that began before the others wrote, until it is told to stop
  await saver.setup();
  const { default: Database } = await import("better-sqlite3");
  const reader = new Database(path, { readonly: true });
  reader.exec("BEGIN");
  const count = () => (reader.prepare("SELECT count(*) AS n FROM heads").get() as { n: number }).n;
  const before = count();
  process.send?.("holding");
  await new Promise((resolve) => process.once("message", resolve));
  process.send?.({ before, after: count() });
  reader.close();
  await saver.end();
  process.disconnect?.();
} else if (what === "die") {
  // the last call is not awaited: what it wrote is whole or absent
  const config = await saver.put(
    { configurable: { thread_id: "t" } },
    { ...emptyCheckpoint(), id: uuid6(0) },
    meta,
    {},
  );
  await saver.putWrites(config, [["a", "x".repeat(100_000)]], "task");
  await saver.records.compareAndSet({ collection: "effects", thread: "t", key: "k" }, null, "claimed", {
    durable: true,
  });
  process.send?.(config.configurable?.checkpoint_id);
  process.kill(process.pid, "SIGKILL");
} else if (what === "acknowledge") {
  // goes on until it is killed, and tells of each call that has returned
  const list: string[] = [];
  let config: Parameters<typeof saver.put>[0] = { configurable: { thread_id: `thread-${name}` } };
  for (let step = 0; ; step++) {
    list.push(`${name} ${step} ${"x".repeat(step % 5 === 0 ? 20_000 : 10)}`);
    const version = saver.getNextVersion(undefined);
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: { list: [...list] },
      channel_versions: { list: version },
    };
    config = await saver.put(config, checkpoint, meta, { list: version });
    process.send?.({ put: config.configurable?.checkpoint_id, length: list.length });
    await saver.putWrites(config, [["list", [step]]], "task");
    process.send?.({ writes: config.configurable?.checkpoint_id, step });
    await saver.records.compareAndSet(
      { collection: "effects", thread: `thread-${name}`, key: `${step}` },
      null,
      "claimed",
      { durable: true },
    );
    process.send?.({ claim: `${step}` });
  }
} else if (what === "claims") {
  // eight claims of one key at once
  await saver.setup();
  process.send?.("ready");
  await new Promise((resolve) => process.once("message", resolve));
  const key = { collection: "effects", thread: "t", key: "claim" };
  const claims = Array.from({ length: 8 }, (_, i) =>
    saver.records.compareAndSet(key, null, `${name} ${i}`, { durable: true }),
  );
  process.send?.({ won: (await Promise.all(claims)).filter(({ ok }) => ok).length });
  await saver.end();
  process.disconnect?.();
} else if (what === "one-thread") {
  // children of whatever is the head, with all the others
  await saver.setup();
  process.send?.("ready");
  await new Promise((resolve) => process.once("message", resolve));
  const thread = { configurable: { thread_id: "t", checkpoint_ns: "" } };
  for (let step = 0; step < 20; step++) {
    const head = await saver.getTuple(thread);
    const previous = head?.checkpoint.channel_versions.list as string | undefined;
    const version = saver.getNextVersion(previous);
    const list = [
      ...((head?.checkpoint.channel_values.list as string[] | undefined) ?? []),
      `${name} ${step}`,
    ];
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: { list },
      channel_versions: { list: version },
    };
    const config = await saver.put(head?.config ?? thread, checkpoint, meta, { list: version });
    await saver.putWrites(config, [["list", [step]]], `task-${name}`);
    process.send?.({ id: checkpoint.id, list });
  }
  await saver.end();
  process.disconnect?.();
}
