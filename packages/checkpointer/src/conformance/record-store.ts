import type { Json, RecordKey, RecordStore } from "@longhaul/core";
import { type TestRunner, toArray } from "./runner.ts";

export interface RecordStoreFixture {
  readonly store: RecordStore;
  /** Moves the clock that the store reads. */
  advance(ms: number): void;
  readonly now: () => number;
  close?(): Promise<void>;
}

const key = (name: string, thread = "t", collection = "effects"): RecordKey => ({
  collection,
  thread,
  key: name,
});

/** What every RecordStore must do. `open` makes a fresh one for each test. */
export function recordStoreSuite(
  name: string,
  open: () => Promise<RecordStoreFixture>,
  { describe, it, equal }: TestRunner,
): void {
  const test = (title: string, body: (fixture: RecordStoreFixture) => Promise<void>) =>
    it(title, async () => {
      const fixture = await open();
      try {
        await body(fixture);
      } finally {
        await fixture.close?.();
      }
    });

  describe(`${name} as a RecordStore`, () => {
    test("a record is absent until it is written", async ({ store }) => {
      equal(await store.get(key("a")), undefined);
      equal(await store.compareAndSet(key("a"), 1, {}), { ok: false, current: undefined });
      equal(await store.delete(key("a")), false);
    });

    test("a write needs the version that was read, and raises it", async ({ store }) => {
      const first = await store.compareAndSet(key("a"), null, { n: 1 });
      equal(first.ok, true);
      const read = await store.get(key("a"));
      equal(read?.value, { n: 1 });
      equal(read?.key, key("a"));
      equal(first.ok && first.version, read?.version);
      const again = await store.compareAndSet(key("a"), null, { n: 2 });
      equal(again, { ok: false, current: read });
      const second = await store.compareAndSet(key("a"), read?.version ?? -1, { n: 2 });
      equal(second.ok && second.version > (read?.version ?? 0), true);
      const late = await store.compareAndSet(key("a"), read?.version ?? -1, { n: 3 });
      equal(late.ok, false);
      equal((await store.get(key("a")))?.value, { n: 2 });
    });

    test("of many writers with the same expectation exactly one wins", async ({ store }) => {
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          store.compareAndSet(key("race"), null, { i }, { durable: i % 2 === 0 }),
        ),
      );
      equal(results.filter((result) => result.ok).length, 1);
    });

    test("values are JSON of any kind and copies", async ({ store }) => {
      const values: Json[] = [
        null,
        false,
        0,
        "",
        "\ud800 \0 é",
        [],
        [[1, [2]]],
        { a: { b: [null] }, __proto__x: 1 },
      ];
      for (const [i, value] of values.entries()) {
        await store.compareAndSet(key(`v${i}`), null, value);
        equal((await store.get(key(`v${i}`)))?.value, value);
      }
      const list = [1];
      await store.compareAndSet(key("mine"), null, list);
      list.push(2);
      equal((await store.get(key("mine")))?.value, [1]);
    });

    test("an expired record is absent to get, list, delete and compareAndSet", async ({
      store,
      advance,
      now,
    }) => {
      await store.compareAndSet(key("e"), null, 1, { expiresAt: now() + 100 });
      advance(99);
      equal((await store.get(key("e")))?.value, 1);
      advance(1);
      equal(await store.get(key("e")), undefined);
      equal(await toArray(store.list("effects", "t")), []);
      equal(await store.delete(key("e")), false);
      equal((await store.compareAndSet(key("e"), null, 2)).ok, true);
      equal((await store.get(key("e")))?.value, 2);
      equal((await store.get(key("e")))?.expiresAt, undefined);
    });

    test("delete with a version takes only that version", async ({ store }) => {
      await store.compareAndSet(key("d"), null, 1);
      const version = (await store.get(key("d")))?.version ?? -1;
      await store.compareAndSet(key("d"), version, 2);
      equal(await store.delete(key("d"), version), false);
      const latest = (await store.get(key("d")))?.version ?? -1;
      equal(await store.delete(key("d"), latest), true);
      equal(await store.get(key("d")), undefined);
    });

    test("a version of a record that is gone matches no later one", async ({ store, advance, now }) => {
      const first = await store.compareAndSet(key("g"), null, 1);
      await store.delete(key("g"));
      const second = await store.compareAndSet(key("g"), null, 2, { expiresAt: now() + 10 });
      equal(first.ok && (await store.compareAndSet(key("g"), first.version, 9)).ok, false);
      advance(10);
      const third = await store.compareAndSet(key("g"), null, 3);
      equal(third.ok, true);
      equal(second.ok && (await store.compareAndSet(key("g"), second.version, 9)).ok, false);
      equal((await store.get(key("g")))?.value, 3);
    });

    test("list gives one thread's records of one collection by prefix in key order", async ({ store }) => {
      for (const name of ["b/2", "a", "b/1", "b", "c", "b%", "B/1", "b/é"])
        await store.compareAndSet(key(name), null, name);
      await store.compareAndSet(key("b/1", "other"), null, "x");
      await store.compareAndSet(key("b/1", "t", "runs"), null, "x");
      await store.compareAndSet(key("b/1", ""), null, "no thread");
      const names = async (prefix?: string, thread = "t") =>
        (await toArray(store.list("effects", thread, prefix))).map((record) => record.key.key);
      equal(await names("b/"), ["b/1", "b/2", "b/é"]);
      equal(await names("zz"), []);
      equal(await names(), ["B/1", "a", "b", "b%", "b/1", "b/2", "b/é", "c"]);
      equal(await names("", ""), ["b/1"]);
    });

    test("a long list is complete, also while it is written to", async ({ store }) => {
      for (let i = 0; i < 450; i++) await store.compareAndSet(key(String(i).padStart(4, "0")), null, i);
      let count = 0;
      for await (const record of store.list("effects", "t")) {
        if (count === 10) await store.delete(key("0449"));
        equal(record.value, count);
        count += 1;
      }
      equal(count === 449 || count === 450, true);
    });
  });
}
