import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CompactSaver } from "@longhaul/checkpointer";
import { expect, it } from "vitest";
import { officialSuite } from "./official-suite.ts";
import { describePostgres, postgresSchema } from "./servers.ts";

const { url } = postgresSchema("saver");

const Log = Annotation.Root({
  input: Annotation<string>,
  log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
});
const meta = { source: "loop" as const, step: 1, parents: {} };

describePostgres("CompactSaver on Postgres", () => {
  officialSuite(
    "Postgres",
    () => CompactSaver.fromConnString(url),
    async (saver) => {
      for await (const { threadId } of saver.listThreads()) await saver.deleteThread(threadId);
      await saver.end();
    },
  );

  it("C6: a fork holds its own writes only, the branch that was left stays, and its interrupt asks again", async () => {
    const build = (saver: CompactSaver) =>
      new StateGraph(Log)
        .addNode("in", (state) => ({ log: [`in-${state.input}`] }))
        .addNode("out", (state) => ({ log: [`out-${state.input} ${interrupt("sure?")}`] }))
        .addEdge(START, "in")
        .addEdge("in", "out")
        .addEdge("out", END)
        .compile({ checkpointer: saver });
    const thread = { configurable: { thread_id: "c6" } };
    const first = CompactSaver.fromConnString(url);
    const graph = build(first);
    await graph.invoke({ input: "1" }, thread);
    const asked = (await graph.getState(thread)).config;
    await graph.invoke(new Command({ resume: "yes" }), thread);
    const after1 = (await graph.getState(thread)).config;
    await graph.invoke({ input: "2" }, thread);
    await graph.invoke(new Command({ resume: "yes" }), thread);
    const head1 = (await graph.getState(thread)).config;
    await graph.invoke({ input: "3" }, after1);
    await graph.invoke(new Command({ resume: "no" }), thread);
    await first.end();

    const saver = CompactSaver.fromConnString(url);
    const again = build(saver);
    const logOf = async (config: typeof thread | typeof head1) => (await again.getState(config)).values.log;
    expect(await logOf(thread)).toEqual(["in-1", "out-1 yes", "in-3", "out-3 no"]);
    expect(await logOf(head1)).toEqual(["in-1", "out-1 yes", "in-2", "out-2 yes"]);
    // from before the first answer: the question is put again
    expect(await again.invoke(null, asked)).toMatchObject({ __interrupt__: [{ value: "sure?" }] });
    expect(await logOf(head1)).toEqual(["in-1", "out-1 yes", "in-2", "out-2 yes"]);
    expect((await saver.verify("c6")).problems).toEqual([]);
    await saver.end();
  });

  it("C7: two savers that go on from one head keep both children", async () => {
    const [p, q] = [CompactSaver.fromConnString(url), CompactSaver.fromConnString(url)];
    const root = { configurable: { thread_id: "c7", checkpoint_ns: "" } };
    const put = (saver: CompactSaver, config: typeof root, n: number) => {
      const version = saver.getNextVersion("000000001");
      const checkpoint = {
        ...emptyCheckpoint(),
        id: uuid6(n),
        channel_values: { n },
        channel_versions: { n: version },
      };
      return saver.put(config, checkpoint, meta, { n: version });
    };
    const head = (await put(p, root, 1)) as typeof root;
    const [a, b] = await Promise.all([put(p, head, 2), put(q, head, 3)]);
    expect((await q.getTuple(a))?.checkpoint.channel_values).toEqual({ n: 2 });
    expect((await p.getTuple(b))?.checkpoint.channel_values).toEqual({ n: 3 });
    const writes = [1, 2, 3].map((n) => (n % 2 ? p : q).putWrites(a, [["n", n]], `task ${n}`));
    await Promise.all(writes);
    expect((await p.getTuple(a))?.pendingWrites?.length).toBe(3);
    expect((await p.verify("c7")).problems).toEqual([]);
    await Promise.all([p.end(), q.end()]);
  });

  it("a writer whose lease went to another is refused", async () => {
    const saver = CompactSaver.fromConnString(url);
    const lease = await saver.leases.acquire("fenced", 60_000);
    await saver.leases.release(lease);
    const next = await saver.leases.acquire("fenced", 60_000);
    const configOf = (token: number) => ({
      configurable: { thread_id: "fenced", checkpoint_ns: "", longhaul_lease: { token } },
    });
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(1) };
    await expect(saver.put(configOf(lease.token), checkpoint, meta, {})).rejects.toMatchObject({
      code: "FENCED_WRITER",
    });
    const config = await saver.put(configOf(next.token), checkpoint, meta, {});
    const old = { configurable: { ...config.configurable, longhaul_lease: { token: lease.token } } };
    await expect(saver.putWrites(old, [["a", 1]], "t")).rejects.toMatchObject({ code: "FENCED_WRITER" });
    expect((await saver.getTuple(config))?.pendingWrites).toEqual([]);
    await saver.end();
  });

  it("with mode=ro nothing is made and nothing written, whatever the schema", async () => {
    const misspelt = new URL(url);
    misspelt.searchParams.set("schema", "longhaul_misspelt");
    misspelt.searchParams.set("mode", "ro");
    for (let i = 0; i < 2; i++) {
      const saver = CompactSaver.fromConnString(misspelt.href);
      await expect(saver.getTuple({ configurable: { thread_id: "t" } })).rejects.toMatchObject({
        code: "UNREADABLE_TARGET",
        message: expect.stringContaining("schema longhaul_misspelt has no tables of ours"),
      });
      await saver.end();
    }
    await CompactSaver.fromConnString(url).setup();
    const looking = CompactSaver.fromConnString(`${url}&mode=ro`);
    expect(await looking.getTuple({ configurable: { thread_id: "none" } })).toBeUndefined();
    await expect(looking.deleteThread("none")).rejects.toMatchObject({ code: "STORAGE_WRITE" });
    await looking.end();
    expect(() => CompactSaver.fromConnString(`${url}&mode=rw`)).toThrow("target");
  });
});
