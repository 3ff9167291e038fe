import type { RecordKey } from "@longhaul/core";
import type { RecordRow, RecordTable } from "../driver/driver.ts";
import { bytes, type DriverTest, HOSTILE, text } from "./driver-fixture.ts";
import { toArray } from "./runner.ts";

const key = (name: string, thread = "t", collection = "effects"): RecordKey => ({
  collection,
  thread,
  key: name,
});

async function put(
  records: RecordTable,
  at: RecordKey,
  data: string,
  options: {
    readonly expected?: number | null;
    readonly expiresAt?: number;
    readonly durable?: boolean;
  } = {},
): Promise<number | undefined> {
  const row = { data: bytes(data), expiresAt: options.expiresAt };
  const result = await records.compareAndSet(at, options.expected ?? null, row, options.durable ?? false);
  return result.ok ? result.version : undefined;
}

export function recordTableTests(test: DriverTest): void {
  test("records: a write needs the version that was read, and raises it", async ({
    driver: { records },
  }, equal) => {
    equal(await records.get(key("a")), undefined);
    equal(await put(records, key("a"), "x", { expected: 1 }), undefined);
    const first = await put(records, key("a"), "1");
    const read = await records.get(key("a"));
    equal([read?.key, read?.version, read?.expiresAt, text(read?.data)], [key("a"), first, undefined, "1"]);
    const refused = await records.compareAndSet(
      key("a"),
      null,
      { data: bytes("2"), expiresAt: undefined },
      true,
    );
    equal(!refused.ok && text(refused.current?.data), "1");
    const second = await put(records, key("a"), "2", { expected: first ?? 0, durable: true });
    equal((second ?? 0) > (first ?? 0) && Number.isSafeInteger(second), true);
    equal(await put(records, key("a"), "3", { expected: first ?? 0 }), undefined);
    equal(text((await records.get(key("a")))?.data), "2");
  });

  test("records: of many writers with the same expectation exactly one wins", async ({
    driver,
    another,
  }, equal) => {
    const second = await another?.();
    const tables = [driver.records, second?.records ?? driver.records];
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        put(tables[i % 2] as RecordTable, key("race"), `${i}`, { durable: i % 3 === 0 }),
      ),
    );
    equal(results.filter((version) => version !== undefined).length, 1);
    await second?.close();
  });

  test("records: an expired one is absent, and no version comes back", async ({
    driver: { records },
    advance,
    now,
  }, equal) => {
    const first = await put(records, key("e"), "1", { expiresAt: now() + 100 });
    equal((await records.get(key("e")))?.expiresAt, now() + 100);
    advance(99);
    equal(text((await records.get(key("e")))?.data), "1");
    advance(1);
    equal(await records.get(key("e")), undefined);
    equal(await toArray(records.list("effects", "t", "")), []);
    equal(await records.delete(key("e")), false);
    equal(await put(records, key("e"), "x", { expected: first ?? 0 }), undefined);
    const second = await put(records, key("e"), "2");
    equal(second !== undefined && second !== first, true);
    equal(await records.delete(key("e"), first), false);
    equal(await records.delete(key("e"), second), true);
    const third = await put(records, key("e"), "3");
    equal(new Set([first, second, third]).size, 3);
    equal((await records.get(key("e")))?.expiresAt, undefined);
  });

  test("records: purge removes the expired ones of one thread for good", async ({
    driver,
    advance,
    now,
  }, equal) => {
    const { records } = driver;
    const first = await put(records, key("old"), "1", { expiresAt: now() + 10 });
    await put(records, key("kept"), "1", { expiresAt: now() + 1_000 });
    await put(records, key("for ever"), "1");
    await put(records, key("old", "u"), "1", { expiresAt: now() + 10 });
    advance(10);
    equal(await records.purge("t"), 1);
    equal(await records.purge("t"), 0);
    const left = await toArray(driver.rows("t", ["record"]));
    equal(left.map((row) => (row.kind === "record" ? row.key.key : "")).sort(), ["for ever", "kept"]);
    equal((await toArray(driver.rows("u"))).length, 1);
    equal((await put(records, key("old"), "2")) === first, false);
  });

  test("records: list is by collection, thread and prefix, in the order of bytes", async ({
    driver: { records },
  }, equal) => {
    const names = ["b/2", "a", "b/1", "b", "c", "b%", "B/1", "b/é", "b_1", "b/🦔", "b/\uFFFD"];
    for (const name of names) await put(records, key(name), name);
    await put(records, key("b/1", "other"), "x");
    await put(records, key("b/1", "t", "runs"), "x");
    await put(records, key("b/1", ""), "no thread");
    const list = async (prefix: string, thread = "t") =>
      (await toArray(records.list("effects", thread, prefix))).map((row: RecordRow) => row.key.key);
    equal(await list("b/"), ["b/1", "b/2", "b/é", "b/\uFFFD", "b/🦔"]);
    equal(await list("zz"), []);
    equal(await list(""), ["B/1", "a", "b", "b%", "b/1", "b/2", "b/é", "b/\uFFFD", "b/🦔", "b_1", "c"]);
    equal(await list("", ""), ["b/1"]);
  });

  test("records: a long list is complete, also while it is written to", async ({
    driver: { records },
  }, equal) => {
    for (let i = 0; i < 450; i++) await put(records, key(String(i).padStart(4, "0")), `${i}`);
    let count = 0;
    for await (const row of records.list("effects", "t", "")) {
      if (count === 10) await records.delete(key("0449"));
      equal(text(row.data), `${count}`);
      count += 1;
    }
    equal(count === 449 || count === 450, true);
  });

  test("records: keys of any shape work and do not meet", async ({ driver: { records } }, equal) => {
    for (const name of HOSTILE) await put(records, key(name, name, name), name);
    for (const name of HOSTILE) equal(text((await records.get(key(name, name, name)))?.data), name);
    await put(records, key("c", "b", "a"), "abc");
    equal(await records.get(key("b/c", "", "a")), undefined);
    equal(await records.get(key("c", "a", "b")), undefined);
  });
}
