import type { Batch, WriteRow } from "../driver/driver.ts";
import { batch, countByKind, hashText, head, ids, textsOf, write } from "./batches.ts";
import { bytes, type DriverTest, text } from "./driver-fixture.ts";
import { toArray } from "./runner.ts";

/** Commits: atomic, ordered, kept by what came first. */
export function commitTests(test: DriverTest): void {
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
