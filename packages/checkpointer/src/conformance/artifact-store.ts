import type { ArtifactStore } from "@longhaul/core";
import { type TestRunner, toArray } from "./runner.ts";

export interface ArtifactStoreFixture {
  readonly store: ArtifactStore;
  close?(): Promise<void>;
}

const meta = { kind: "tool-result", label: "grep" };

/** What every ArtifactStore must do. `open` makes a fresh one for each test. */
export function artifactStoreSuite(
  name: string,
  open: () => Promise<ArtifactStoreFixture>,
  { describe, it, equal }: TestRunner,
): void {
  const test = (title: string, body: (store: ArtifactStore) => Promise<void>) =>
    it(title, async () => {
      const fixture = await open();
      try {
        await body(fixture.store);
      } finally {
        await fixture.close?.();
      }
    });

  describe(`${name} as an ArtifactStore`, () => {
    test("content comes back under its reference, the same content under the same one", async (store) => {
      const ref = await store.put("t", "content", meta);
      equal(/^lh-[0-9a-f]{16}$/.test(ref), true);
      equal(await store.put("t", "content", { kind: "other", label: "later" }), ref);
      equal(await store.get("t", ref), { ref, content: "content", meta });
      equal((await toArray(store.list("t"))).length, 1);
    });

    test("threads do not see each other's", async (store) => {
      const ref = await store.put("t", "content", meta);
      equal(await store.get("u", ref), undefined);
      equal(await toArray(store.list("u")), []);
      equal(await store.get("t", "lh-0000000000000000"), undefined);
    });

    test("the first content under a given name stays", async (store) => {
      equal(await store.put("t", "first", meta, "summary:abc"), "summary:abc");
      equal(await store.put("t", "second", meta, "summary:abc"), "summary:abc");
      equal((await store.get("t", "summary:abc"))?.content, "first");
    });

    test("any text survives: empty, NUL, lone surrogates, long", async (store) => {
      for (const content of ["", "a\0b", "\ud800x", "\\u0000", "🦔".repeat(300_000)]) {
        const ref = await store.put("t", content, meta);
        equal((await store.get("t", ref))?.content === content, true);
      }
    });

    test("list is in order of storing, with meta and length", async (store) => {
      const refs: string[] = [];
      for (let i = 0; i < 250; i++)
        refs.push(await store.put("t", `content ${250 - i}`, { ...meta, label: `${i}` }));
      const listed = await toArray(store.list("t"));
      equal(
        listed.map((item) => item.ref),
        refs,
      );
      equal(listed[3], { ref: refs[3], meta: { ...meta, label: "3" }, chars: "content 247".length });
    });
  });
}
