import type { Batch, Row, StorageDriver, WriteRow } from "../driver/driver.ts";
import { artifactTableTests } from "./artifact-table.ts";
import { bytes, type DriverFixture, type DriverTest, HOSTILE, text } from "./driver-fixture.ts";
import { recordTableTests } from "./record-table.ts";
import { type TestRunner, toArray } from "./runner.ts";

/**
 * What every StorageDriver must do. `open` makes a fresh one for each test; with `another` the fixture gives a second instance on the same
 * storage, as another process would have.
 */
export function storageDriverSuite(
  name: string,
  open: () => Promise<DriverFixture>,
  { describe, it, equal }: TestRunner,
): void {
  const test: DriverTest = (title, body) =>
    it(title, async () => {
      const fixture = await open();
      try {
        await body(fixture, equal);
      } finally {
        await fixture.close?.();
        await fixture.driver.close();
      }
    });

  describe(`${name} as a StorageDriver`, () => {
    commitTests(test);
    readTests(test);
    sweepTests(test);
    lifeTests(test);
    recordTableTests(test);
    artifactTableTests(test);
  });
}

const EMPTY = { era: undefined, chunks: [], values: [], isSame: () => false } as const;

function batch(fields: Partial<Batch>): Batch {
  return { threadId: "t", namespace: "", ...EMPTY, ...fields };
}

function head(checkpointId: string, parentId?: string): NonNullable<Batch["head"]> {
  return { checkpointId, parentId, data: bytes(`head ${checkpointId}`) };
}

function write(taskId: string, index: number, data: string, channel = "messages"): WriteRow {
  return { taskId, index, taskPath: "path", channel, data: bytes(data) };
}

async function ids(driver: StorageDriver, query: Parameters<StorageDriver["heads"]>[0] = { threadId: "t" }) {
  return (await toArray(driver.heads(query))).map((row) => row.checkpointId);
}

async function textsOf(driver: StorageDriver, checkpointId = "c1"): Promise<string[]> {
  const rows = await driver.writes({ threadId: "t", namespace: "", checkpointId });
  return rows
    .map((row) => `${row.taskId}/${row.index}/${row.taskPath}/${row.channel}/${text(row.data)}`)
    .sort();
}

function commitTests(test: DriverTest): void {
  test("a commit stores head, values, chunks and writes", async ({ driver }, equal) => {
    const result = await driver.commit(
      batch({
        head: head("c1"),
        values: [{ channel: "a", version: "1", data: bytes("value") }],
        chunks: [{ hash: "AAAAAAAAAAAAAAAAAAAAAA", data: bytes("chunk") }],
        writes: { checkpointId: "c1", rows: [write("t1", 0, "write")] },
      }),
    );
    equal(result.ok, true);
    equal(result.ok && result.sibling, undefined);
    const row = await driver.head("t", "", "c1");
    equal(row && { ...row, data: text(row.data), sequence: 0 }, {
      threadId: "t",
      namespace: "",
      checkpointId: "c1",
      parentId: undefined,
      sequence: 0,
      data: "head c1",
    });
    const [value] = await driver.values("t", "", [{ channel: "a", version: "1" }]);
    equal(text(value), "value");
    const chunks = await driver.chunks("t", ["AAAAAAAAAAAAAAAAAAAAAA", "BAAAAAAAAAAAAAAAAAAAAA"]);
    equal(
      [...chunks].map(([hash, data]) => [hash, text(data)]),
      [["AAAAAAAAAAAAAAAAAAAAAA", "chunk"]],
    );
    equal(await textsOf(driver), ["t1/0/path/messages/write"]);
  });

  test("calls take effect in the order in which they were made, without being awaited", async ({
    driver,
  }, equal) => {
    const calls: Promise<unknown>[] = [];
    for (let i = 0; i < 20; i++)
      calls.push(driver.commit(batch({ head: head(`c${i}`, i > 0 ? `c${i - 1}` : undefined) })));
    calls.push(driver.head("t", "").then((row) => equal(row?.checkpointId, "c19")));
    await Promise.all(calls);
    equal(
      await ids(driver),
      Array.from({ length: 20 }, (_, i) => `c${19 - i}`),
    );
  });

  test("the newest is the one that was committed last, whatever the ids say", async ({ driver }, equal) => {
    await driver.commit(batch({ head: head("z") }));
    await driver.commit(batch({ head: head("a", "z") }));
    equal((await driver.head("t", ""))?.checkpointId, "a");
    equal(await ids(driver), ["a", "z"]);
    const [first, second] = await toArray(driver.heads({ threadId: "t" }));
    equal((first?.sequence ?? 0) > (second?.sequence ?? 0), true);
  });

  test("a head that is put again is replaced and keeps its place", async ({ driver }, equal) => {
    await driver.commit(batch({ head: head("c1") }));
    const before = await driver.head("t", "", "c1");
    await driver.commit(batch({ head: head("c2", "c1") }));
    const again = await driver.commit(
      batch({ head: { checkpointId: "c1", parentId: "c0", data: bytes("other") } }),
    );
    equal(again.ok, true);
    const after = await driver.head("t", "", "c1");
    equal([after?.sequence, after?.parentId, text(after?.data)], [before?.sequence, "c0", "other"]);
    equal(await ids(driver), ["c2", "c1"]);
  });

  test("a second child of one parent is named as a fork, and both stay", async ({ driver }, equal) => {
    await driver.commit(batch({ head: head("c1") }));
    const first = await driver.commit(batch({ head: head("c2", "c1") }));
    const second = await driver.commit(batch({ head: head("c3", "c1") }));
    const again = await driver.commit(batch({ head: head("c3", "c1") }));
    const elsewhere = await driver.commit(batch({ namespace: "child", head: head("c1") }));
    equal(
      [first, second, again, elsewhere].map((result) => result.ok && result.sibling),
      [undefined, "c2", undefined, undefined],
    );
    equal(await ids(driver, { threadId: "t", namespace: "" }), ["c3", "c2", "c1"]);
  });

  test("ordinary writes are write-once, those with a negative index may be replaced", async ({
    driver,
  }, equal) => {
    const put = (...rows: WriteRow[]) => driver.commit(batch({ writes: { checkpointId: "c1", rows } }));
    await put(write("t1", 0, "first"), write("t1", -1, "error", "__error__"), write("t2", 0, "other"));
    await put(write("t1", 0, "second"), write("t1", -1, "again", "__error__"), write("t1", 1, "more"));
    equal(await textsOf(driver), [
      "t1/-1/path/__error__/again",
      "t1/0/path/messages/first",
      "t1/1/path/messages/more",
      "t2/0/path/messages/other",
    ]);
    const some = await driver.writes({ threadId: "t", namespace: "", checkpointId: "c1" }, ["__error__"]);
    equal(
      some.map((row) => row.channel),
      ["__error__"],
    );
  });

  test("a value that exists is kept; another one is a conflict and nothing is written", async ({
    driver,
  }, equal) => {
    const value = (data: string) => [{ channel: "a", version: "1", data: bytes(data) }];
    await driver.commit(batch({ head: head("c1"), values: value("one") }));
    const asked: string[] = [];
    const isSame: Batch["isSame"] = (key, stored, given) => {
      asked.push(`${key.channel}@${key.version}: ${text(stored)} ${text(given)}`);
      return text(stored).toLowerCase() === text(given).toLowerCase();
    };
    equal((await driver.commit(batch({ head: head("c2", "c1"), values: value("one"), isSame }))).ok, true);
    equal((await driver.commit(batch({ head: head("c3", "c2"), values: value("ONE"), isSame }))).ok, true);
    const conflict = await driver.commit(
      batch({
        head: head("c4", "c3"),
        values: [{ channel: "b", version: "1", data: bytes("b") }, ...value("two")],
        isSame,
      }),
    );
    equal(conflict, { ok: false, reason: "conflict", key: { channel: "a", version: "1" } });
    equal([...new Set(asked)], ["a@1: one ONE", "a@1: one two"]);
    const [kept, none] = await driver.values("t", "", [
      { channel: "a", version: "1" },
      { channel: "b", version: "1" },
    ]);
    equal([text(kept), none], ["one", undefined]);
    equal(await ids(driver), ["c3", "c2", "c1"]);
  });

  test("a conflict writes no part of the batch", async ({ driver }, equal) => {
    const value = (data: string) => [{ channel: "a", version: "1", data: bytes(data) }];
    await driver.commit(batch({ head: head("c1"), values: value("one") }));
    const before = await driver.thread("t");
    const conflict = await driver.commit(
      batch({
        values: value("two"),
        chunks: [{ hash: hashText(1), data: bytes("chunk") }],
        writes: { checkpointId: "c1", rows: [write("t1", 0, "w")] },
      }),
    );
    equal(conflict.ok, false);
    equal(countByKind(await toArray(driver.rows("t"))), { head: 1, value: 1 });
    equal(await driver.thread("t"), before);
  });

  test("a chunk that exists is kept", async ({ driver }, equal) => {
    const put = (id: string, data: string) =>
      driver.commit(batch({ head: head(id), chunks: [{ hash: hashText(1), data: bytes(data) }] }));
    await put("c1", "first");
    equal((await put("c2", "second")).ok, true);
    equal(text((await driver.chunks("t", [hashText(1)])).get(hashText(1))), "first");
  });

  test("what a callback throws ends the call with nothing written", async ({ driver }, equal) => {
    await driver.commit(
      batch({ head: head("c1"), values: [{ channel: "a", version: "1", data: bytes("one") }] }),
    );
    const fail = () => {
      throw new Error("from the callback");
    };
    const failed = (call: Promise<unknown>) =>
      call.then(
        () => "no error",
        (error: Error) => error.message,
      );
    const values = [
      { channel: "new", version: "1", data: bytes("new") },
      { channel: "a", version: "1", data: bytes("two") },
    ];
    equal(
      await failed(driver.commit(batch({ head: head("c2", "c1"), values, isSame: fail }))),
      "from the callback",
    );
    const key = { collection: "leases", thread: "t", key: "run" };
    equal(
      await failed(driver.commit(batch({ head: head("c2", "c1"), guard: { key, allows: fail } }))),
      "from the callback",
    );
    equal(await failed(driver.deleteThread("t", fail)), "from the callback");
    equal(await ids(driver), ["c1"]);
    equal(await driver.values("t", "", [{ channel: "new", version: "1" }]), [undefined]);
    equal((await driver.commit(batch({ head: head("c2", "c1") }))).ok, true);
  });

  test("a commit of another era writes nothing", async ({ driver }, equal) => {
    equal(await driver.commit(batch({ era: "none", head: head("c1") })), { ok: false, reason: "stale" });
    equal(await driver.thread("t"), undefined);
    const first = await driver.commit(batch({ head: head("c1") }));
    const era = first.ok ? first.era : "";
    equal((await driver.thread("t"))?.era, era);
    // commits leave the era as it is
    equal((await driver.commit(batch({ era, head: head("c2", "c1") }))).ok, true);
    equal((await driver.commit(batch({ era, head: head("c3", "c2") }))).ok, true);
    equal((await driver.thread("t"))?.era, era);
    await driver.deleteThread("t", () => bytes("1"));
    equal(await driver.commit(batch({ era, head: head("c3") })), { ok: false, reason: "stale" });
    const later = await driver.commit(batch({ head: head("c3") }));
    equal(later.ok && later.era !== era, true);
    equal(await driver.commit(batch({ era, head: head("c4") })), { ok: false, reason: "stale" });
  });

  test("a guard sees the record and may refuse; nothing is written then", async ({
    driver,
    now,
    advance,
  }, equal) => {
    const key = { collection: "leases", thread: "t", key: "run" };
    const seen: (string | undefined)[] = [];
    const guard = (allowed: boolean) => ({
      key,
      allows: (data: Uint8Array | undefined) => {
        seen.push(data && text(data));
        return allowed;
      },
    });
    equal((await driver.commit(batch({ head: head("c1"), guard: guard(true) }))).ok, true);
    await driver.records.compareAndSet(key, null, { data: bytes("7"), expiresAt: now() + 10 }, false);
    equal(await driver.commit(batch({ head: head("c2", "c1"), guard: guard(false) })), {
      ok: false,
      reason: "refused",
    });
    // an expired lease was held all the same
    advance(20);
    equal((await driver.commit(batch({ head: head("c3", "c1"), guard: guard(true) }))).ok, true);
    equal([...new Set(seen)], [undefined, "7"]);
    equal(seen.at(-1), "7");
    equal(await ids(driver), ["c3", "c1"]);
  });

  test("revisions change with every commit and never come back", async ({ driver }, equal) => {
    const seen: (string | undefined)[] = [];
    const look = async () => seen.push((await driver.thread("t"))?.revision);
    await driver.commit(batch({ head: head("c1") }));
    await look();
    await driver.commit(batch({ writes: { checkpointId: "c1", rows: [write("t1", 0, "w")] } }));
    await look();
    await driver.sweep({
      threadId: "t",
      revision: seen[1] ?? "",
      heads: [],
      values: [],
      chunks: [],
      rewritten: [],
    });
    await look();
    await driver.deleteThread("t", () => bytes("1"));
    await driver.commit(batch({ head: head("c1") }));
    await look();
    equal(new Set(seen).size, 4);
    equal(seen.includes(undefined), false);
  });

  test("a second instance on the same storage sees it all and takes part", async ({
    driver,
    another,
  }, equal) => {
    if (!another) return;
    const second = await another();
    try {
      const first = await driver.commit(batch({ head: head("c1") }));
      equal((await second.head("t", ""))?.checkpointId, "c1");
      const era = (await second.thread("t"))?.era;
      equal(first.ok && first.era, era);
      const commits = Array.from({ length: 10 }, (_, i) =>
        (i % 2 === 0 ? driver : second).commit(batch({ era, head: head(`d${i}`, "c1") })),
      );
      equal(
        (await Promise.all(commits)).every((result) => result.ok),
        true,
      );
      equal((await ids(driver)).sort(), (await ids(second)).sort());
      equal((await ids(driver)).length, 11);
      const sequences = (await toArray(second.heads({ threadId: "t" }))).map((row) => row.sequence);
      equal(new Set(sequences).size, 11);
      await second.deleteThread("t", () => bytes("1"));
      equal(await driver.commit(batch({ era, head: head("e1") })), { ok: false, reason: "stale" });
      equal(await driver.head("t", "", "c1"), undefined);
    } finally {
      await second.close();
    }
  });
}

function readTests(test: DriverTest): void {
  test("what was never stored is absent", async ({ driver }, equal) => {
    equal(await driver.thread("t"), undefined);
    equal(await driver.head("t", ""), undefined);
    equal(await driver.head("t", "", "c1"), undefined);
    equal(await ids(driver), []);
    equal(await driver.writes({ threadId: "t", namespace: "", checkpointId: "c1" }), []);
    equal(await driver.values("t", "", [{ channel: "a", version: "1" }]), [undefined]);
    equal((await driver.chunks("t", ["AAAAAAAAAAAAAAAAAAAAAA"])).size, 0);
    equal(await toArray(driver.threads()), []);
    equal(await toArray(driver.rows()), []);
    equal(await driver.check(), []);
    await driver.deleteThread("t", () => bytes("1"));
  });

  test("heads by thread, namespace, id, bound and limit", async ({ driver }, equal) => {
    const sequences: number[] = [];
    for (let i = 0; i < 130; i++) {
      const namespace = i % 3 === 0 ? "child" : "";
      await driver.commit(batch({ namespace, head: head(`c${String(i).padStart(3, "0")}`) }));
      sequences.push((await driver.head("t", namespace))?.sequence ?? -1);
    }
    await driver.commit(batch({ threadId: "u", head: head("c001") }));
    equal((await ids(driver)).length, 130);
    equal((await ids(driver))[0], "c129");
    equal((await ids(driver, { threadId: "t", namespace: "child" })).length, 44);
    equal(await ids(driver, { threadId: "t", limit: 2 }), ["c129", "c128"]);
    equal(await ids(driver, { threadId: "t", limit: 0 }), []);
    equal((await ids(driver, { threadId: "t", limit: 125 })).length, 125);
    equal(await ids(driver, { threadId: "t", below: sequences[2] ?? -1 }), ["c001", "c000"]);
    equal(await ids(driver, { threadId: "t", namespace: "", below: sequences[2] ?? -1 }), ["c001"]);
    equal(await ids(driver, { threadId: "t", checkpointId: "c001" }), ["c001"]);
    equal(await ids(driver, { checkpointId: "c001" }), ["c001", "c001"]);
    equal((await ids(driver, {})).length, 131);
    equal((await ids(driver, {})).at(-1), "c001");
    equal((await ids(driver, { limit: 131 })).length, 131);
  });

  test("values come in the order asked for", async ({ driver }, equal) => {
    const values = ["1", "2", "3"].map((version) => ({ channel: "a", version, data: bytes(`v${version}`) }));
    await driver.commit(batch({ values, head: head("c1") }));
    const found = await driver.values(
      "t",
      "",
      ["3", "9", "1", "3"].map((version) => ({ channel: "a", version })),
    );
    equal(
      found.map((data) => data && text(data)),
      ["v3", undefined, "v1", "v3"],
    );
    equal(await driver.values("t", "other", [{ channel: "a", version: "1" }]), [undefined]);
    equal(await driver.values("t", "", []), []);
  });

  test("threads in the order of their first commit, with their latest checkpoint", async ({
    driver,
  }, equal) => {
    for (const threadId of ["z", "a", "m"]) await driver.commit(batch({ threadId, head: head("c9") }));
    await driver.commit(batch({ threadId: "z", namespace: "child", head: head("c1") }));
    await driver.commit(
      batch({ threadId: "writes only", writes: { checkpointId: "c1", rows: [write("t", 0, "w")] } }),
    );
    equal(await toArray(driver.threads()), [
      { threadId: "z", checkpoints: 2, latestCheckpointId: "c1" },
      { threadId: "a", checkpoints: 1, latestCheckpointId: "c9" },
      { threadId: "m", checkpoints: 1, latestCheckpointId: "c9" },
    ]);
  });

  test("rows gives every row of a thread once, and of all", async ({ driver }, equal) => {
    for (const threadId of ["t", "u"]) {
      for (let i = 0; i < 120; i++) {
        await driver.commit(
          batch({
            threadId,
            head: head(`c${i}`),
            values: [{ channel: "a", version: `${i}`, data: bytes(`${i}`) }],
            chunks: [{ hash: hashText(i), data: bytes(`${i}`) }],
            writes: {
              checkpointId: `c${i}`,
              rows: [write("t1", 0, "w"), write("t1", -2, "r", "__resume__")],
            },
          }),
        );
      }
      await driver.artifacts.put(threadId, { ref: "lh-1", chars: 1, meta: bytes("m"), data: bytes("d") });
      const key = { collection: "effects", thread: threadId, key: "k" };
      await driver.records.compareAndSet(key, null, { data: bytes("r"), expiresAt: 1 }, false);
    }
    const rows = await toArray(driver.rows("t"));
    equal(countByKind(rows), { head: 120, value: 120, write: 240, chunk: 120, artifact: 1, record: 1 });
    equal(new Set(rows.map(({ data: _, ...address }) => JSON.stringify(address))).size, rows.length);
    equal(countByKind(await toArray(driver.rows())), {
      head: 240,
      value: 240,
      write: 480,
      chunk: 240,
      artifact: 2,
      record: 2,
    });
    equal(countByKind(await toArray(driver.rows("t", ["chunk", "record"]))), { chunk: 120, record: 1 });
    const found = rows.find((row) => row.kind === "write" && row.index === -2 && row.checkpointId === "c7");
    equal(found && { ...found, data: text(found.data) }, {
      kind: "write",
      threadId: "t",
      namespace: "",
      checkpointId: "c7",
      taskId: "t1",
      index: -2,
      taskPath: "path",
      channel: "__resume__",
      data: "r",
    });
    equal(await driver.check(), []);
  });

  test("rows of all includes threads that have records or artifacts only", async ({ driver }, equal) => {
    const key = { collection: "effects", thread: "r", key: "k" };
    await driver.records.compareAndSet(key, null, { data: bytes("r"), expiresAt: undefined }, false);
    await driver.records.compareAndSet(
      { ...key, thread: "" },
      null,
      { data: bytes("r"), expiresAt: undefined },
      false,
    );
    await driver.artifacts.put("a", { ref: "lh-1", chars: 1, meta: bytes("m"), data: bytes("d") });
    await driver.deleteThread("never", () => bytes("1"));
    equal(countByKind(await toArray(driver.rows())), { record: 3, artifact: 1 });
    equal(await toArray(driver.threads()), []);
  });

  test("addresses of any shape work and do not meet", async ({ driver }, equal) => {
    for (const [i, name] of HOSTILE.entries()) {
      await driver.commit(
        batch({
          threadId: name,
          namespace: name,
          head: { checkpointId: name, parentId: name, data: bytes(`head ${i}`) },
          values: [{ channel: name, version: name, data: bytes(`value ${i}`) }],
          writes: { checkpointId: name, rows: [{ ...write(name, 0, `write ${i}`, name), taskPath: name }] },
        }),
      );
    }
    for (const [i, name] of HOSTILE.entries()) {
      equal(text((await driver.head(name, name, name))?.data), `head ${i}`);
      equal(text((await driver.values(name, name, [{ channel: name, version: name }]))[0]), `value ${i}`);
      const [row] = await driver.writes({ threadId: name, namespace: name, checkpointId: name }, [name]);
      equal(row && [row.taskId, row.taskPath, row.channel, text(row.data)], [name, name, name, `write ${i}`]);
    }
    equal(
      (await toArray(driver.threads())).map((thread) => thread.threadId),
      [...HOSTILE],
    );
    const [first, second] = HOSTILE;
    await driver.deleteThread(first as string, () => bytes("1"));
    equal(await driver.head(first as string, first as string), undefined);
    equal((await driver.head(second as string, second as string))?.checkpointId, second);
  });

  test("blobs of any bytes and of megabytes", async ({ driver }, equal) => {
    const large = new Uint8Array(3_000_000).map((_, i) => (i * 7) % 256);
    await driver.commit(
      batch({
        head: { checkpointId: "c1", parentId: undefined, data: new Uint8Array([0, 255, 10, 13, 0]) },
        values: [{ channel: "a", version: "1", data: new Uint8Array(0) }],
        chunks: [{ hash: hashText(1), data: large }],
      }),
    );
    equal([...((await driver.head("t", ""))?.data ?? [])], [0, 255, 10, 13, 0]);
    equal((await driver.values("t", "", [{ channel: "a", version: "1" }]))[0]?.length, 0);
    const stored = (await driver.chunks("t", [hashText(1)])).get(hashText(1)) ?? new Uint8Array();
    equal(Buffer.compare(stored, large), 0);
  });
}

function sweepTests(test: DriverTest): void {
  async function fill(driver: StorageDriver): Promise<string> {
    for (let i = 1; i <= 4; i++) {
      await driver.commit(
        batch({
          head: head(`c${i}`, i > 1 ? `c${i - 1}` : undefined),
          values: [{ channel: "a", version: `${i}`, data: bytes(`v${i}`) }],
          chunks: [{ hash: hashText(i), data: bytes(`chunk ${i}`) }],
          writes: { checkpointId: `c${i}`, rows: [write("t1", 0, `w${i}`)] },
        }),
      );
    }
    await driver.commit(batch({ writes: { checkpointId: "gone", rows: [write("t1", 0, "orphan")] } }));
    return (await driver.thread("t"))?.revision ?? "";
  }
  const lists = {
    threadId: "t",
    heads: ["c1", "c2", "gone"].map((checkpointId) => ({ threadId: "t", namespace: "", checkpointId })),
    values: [{ namespace: "", channel: "a", version: "1" }],
    chunks: [hashText(1), hashText(9)],
    rewritten: [
      { threadId: "t", namespace: "", checkpointId: "c3", parentId: undefined, data: bytes("new head c3") },
    ],
  };

  test("a sweep removes what it lists with the writes, and rewrites", async ({ driver }, equal) => {
    const revision = await fill(driver);
    const before = await driver.thread("t");
    const sequence = (await driver.head("t", "", "c3"))?.sequence;
    equal(await driver.sweep({ ...lists, revision }), "done");
    equal(await ids(driver), ["c4", "c3"]);
    const row = await driver.head("t", "", "c3");
    equal([row?.parentId, row?.sequence, text(row?.data)], [undefined, sequence, "new head c3"]);
    equal(await textsOf(driver, "c1"), []);
    equal(await textsOf(driver, "gone"), []);
    equal((await textsOf(driver, "c3")).length, 1);
    equal((await driver.chunks("t", [hashText(1), hashText(2)])).has(hashText(1)), false);
    equal((await driver.chunks("t", [hashText(1), hashText(2)])).has(hashText(2)), true);
    const values = await driver.values(
      "t",
      "",
      ["1", "2"].map((version) => ({ channel: "a", version })),
    );
    equal(
      values.map((data) => data && text(data)),
      [undefined, "v2"],
    );
    const after = await driver.thread("t");
    equal(after?.era !== before?.era && after?.revision !== before?.revision, true);
    equal(await driver.commit(batch({ era: before?.era, head: head("c5", "c4") })), {
      ok: false,
      reason: "stale",
    });
    equal(await driver.check(), []);
  });

  test("a sweep of the newest leaves the one before as the newest, one of all leaves none", async ({
    driver,
  }, equal) => {
    const sweepOf = (revision: string, ...names: string[]) => ({
      ...{ threadId: "t", revision, values: [], chunks: [], rewritten: [] },
      heads: names.map((checkpointId) => ({ threadId: "t", namespace: "", checkpointId })),
    });
    equal(await driver.sweep(sweepOf(await fill(driver), "c4")), "done");
    equal((await driver.head("t", ""))?.checkpointId, "c3");
    equal(await toArray(driver.threads()), [{ threadId: "t", checkpoints: 3, latestCheckpointId: "c3" }]);
    const next = await driver.commit(batch({ head: head("c5", "c3") }));
    equal(next.ok && next.sibling, undefined);
    const revision = (await driver.thread("t"))?.revision ?? "";
    equal(await driver.sweep(sweepOf(revision, "c1", "c2", "c3", "c5")), "done");
    equal(await driver.head("t", ""), undefined);
    equal(await ids(driver), []);
    equal(await toArray(driver.threads()), []);
    equal(await driver.check(), []);
  });

  test("a sweep of another revision changes nothing", async ({ driver }, equal) => {
    const revision = await fill(driver);
    await driver.commit(batch({ head: head("c5", "c4") }));
    equal(await driver.sweep({ ...lists, revision }), "changed");
    equal((await ids(driver)).length, 5);
    equal(await driver.sweep({ ...lists, threadId: "none", revision }), "changed");
    equal((await driver.chunks("t", [hashText(1)])).size, 1);
  });
}

function lifeTests(test: DriverTest): void {
  test("deleteThread erases the thread, keeps leases and raises its generation", async ({
    driver,
  }, equal) => {
    for (const threadId of ["t", "u"]) {
      await driver.commit(
        batch({
          threadId,
          head: head("c1"),
          values: [{ channel: "a", version: "1", data: bytes("v") }],
          chunks: [{ hash: hashText(1), data: bytes("chunk") }],
          writes: { checkpointId: "c1", rows: [write("t1", 0, "w")] },
        }),
      );
      await driver.artifacts.put(threadId, { ref: "lh-1", chars: 1, meta: bytes("m"), data: bytes("d") });
      for (const collection of ["effects", "budgets", "leases"])
        await driver.records.compareAndSet(
          { collection, thread: threadId, key: "k" },
          null,
          { data: bytes("r"), expiresAt: undefined },
          false,
        );
    }
    const seen: (string | undefined)[] = [];
    const raise = (stored: Uint8Array | undefined) => {
      seen.push(stored && text(stored));
      return bytes(stored ? `${text(stored)}+` : "1");
    };
    await driver.deleteThread("t", raise);
    equal(countByKind(await toArray(driver.rows("t"))), { record: 1 });
    equal((await driver.records.get({ collection: "leases", thread: "t", key: "k" })) !== undefined, true);
    equal(await toArray(driver.artifacts.list("t")), []);
    equal(
      (await toArray(driver.threads())).map((thread) => thread.threadId),
      ["u"],
    );
    equal(countByKind(await toArray(driver.rows("u"))), {
      head: 1,
      value: 1,
      write: 1,
      chunk: 1,
      artifact: 1,
      record: 3,
    });
    const key = { collection: "generations", thread: "", key: "t" };
    equal(text((await driver.records.get(key))?.data), "1");
    await driver.deleteThread("t", raise);
    equal(text((await driver.records.get(key))?.data), "1+");
    equal([...new Set(seen)], [undefined, "1"]);
    equal(await driver.check(), []);
  });

  test("open and close are idempotent; a closed driver refuses every call", async ({ driver }, equal) => {
    const key = { collection: "effects", thread: "t", key: "k" };
    await Promise.all([driver.open(), driver.open()]);
    const last = driver.commit(batch({ head: head("c1") }));
    await driver.close();
    await driver.close();
    equal((await last).ok, true);
    const codes = await Promise.all(
      [
        () => driver.open(),
        () => driver.thread("t"),
        () => driver.commit(batch({ head: head("c2", "c1") })),
        () => driver.sweep({ threadId: "t", revision: "", heads: [], values: [], chunks: [], rewritten: [] }),
        () => driver.deleteThread("t", () => bytes("1")),
        () => driver.head("t", ""),
        () => toArray(driver.heads({})),
        () => toArray(driver.heads({ threadId: "t" })),
        () => driver.writes({ threadId: "t", namespace: "", checkpointId: "c1" }),
        () => driver.values("t", "", [{ channel: "a", version: "1" }]),
        () => driver.chunks("t", [hashText(1)]),
        () => toArray(driver.threads()),
        () => toArray(driver.rows()),
        () => toArray(driver.rows("t")),
        () => driver.check(),
        () => driver.records.get(key),
        () => driver.records.compareAndSet(key, null, { data: bytes("r"), expiresAt: undefined }, true),
        () => driver.records.delete(key),
        () => toArray(driver.records.list("effects", "t", "")),
        () => driver.records.purge("t"),
        () => driver.artifacts.put("t", { ref: "r", chars: 1, meta: bytes("m"), data: bytes("d") }),
        () => driver.artifacts.get("t", "r"),
        () => toArray(driver.artifacts.list("t")),
      ].map(async (call) => {
        try {
          await call();
          return "no error";
        } catch (error) {
          return (error as { code?: string }).code;
        }
      }),
    );
    equal([...new Set(codes)], ["STORAGE_CLOSED"]);
  });

  test("what is stored is a copy, and so is what is read", async ({ driver }, equal) => {
    const key = { collection: "effects", thread: "t", key: "k" };
    const given = Array.from({ length: 7 }, (_, i) => bytes(`data ${i}`));
    const [ofHead, ofValue, ofChunk, ofWrite, ofRecord, ofArtifact, ofMeta] = given as Seven;
    await driver.commit(
      batch({
        head: { checkpointId: "c1", parentId: undefined, data: ofHead },
        values: [{ channel: "a", version: "1", data: ofValue }],
        chunks: [{ hash: hashText(1), data: ofChunk }],
        writes: { checkpointId: "c1", rows: [{ ...write("t1", 0, ""), data: ofWrite }] },
      }),
    );
    await driver.records.compareAndSet(key, null, { data: ofRecord, expiresAt: undefined }, false);
    await driver.artifacts.put("t", { ref: "r", chars: 1, meta: ofMeta, data: ofArtifact });
    for (const data of given) data.fill(0);
    const read = async () => {
      const artifact = await driver.artifacts.get("t", "r");
      return [
        (await driver.head("t", ""))?.data,
        (await driver.values("t", "", [{ channel: "a", version: "1" }]))[0],
        (await driver.chunks("t", [hashText(1)])).get(hashText(1)),
        (await driver.writes({ threadId: "t", namespace: "", checkpointId: "c1" }))[0]?.data,
        (await driver.records.get(key))?.data,
        artifact?.data,
        artifact?.meta,
        (await toArray(driver.heads({ threadId: "t" })))[0]?.data,
        ...(await toArray(driver.rows("t", ["head", "value", "chunk", "write"]))).map((row) => row.data),
      ];
    };
    const texts = async () => (await read()).map(text);
    const expected = ["data 0", "data 1", "data 2", "data 3", "data 4", "data 5", "data 6", "data 0"];
    equal((await texts()).slice(0, 8), expected);
    equal((await texts()).slice(8).sort(), expected.slice(0, 4));
    for (const data of await read()) data?.fill(0);
    equal((await texts()).slice(0, 8), expected);
    equal((await texts()).slice(8).sort(), expected.slice(0, 4));
  });
}

type Seven = [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array];

/** A hash as chunks have it: 16 bytes in base64url. */
function hashText(n: number): string {
  return Buffer.from(String(n).padStart(16, "0")).toString("base64url");
}

function countByKind(rows: readonly Row[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of rows) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
