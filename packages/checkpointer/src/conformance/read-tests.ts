import { batch, countByKind, hashText, head, ids, write } from "./batches.ts";
import { bytes, type DriverTest, HOSTILE, text } from "./driver-fixture.ts";
import { toArray } from "./runner.ts";

/** Reading heads, writes, values, chunks and rows. */
export function readTests(test: DriverTest): void {
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
