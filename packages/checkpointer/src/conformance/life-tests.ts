import { batch, countByKind, hashText, head, write } from "./batches.ts";
import { bytes, type DriverTest, text } from "./driver-fixture.ts";
import { toArray } from "./runner.ts";

/** Deletion, opening and closing, several instances. */
export function lifeTests(test: DriverTest): void {
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
