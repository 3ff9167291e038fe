import type { StorageDriver } from "../driver/driver.ts";
import { batch, hashText, head, ids, textsOf, write } from "./batches.ts";
import { bytes, type DriverTest, text } from "./driver-fixture.ts";
import { toArray } from "./runner.ts";

/** What retention does. */
export function sweepTests(test: DriverTest): void {
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
