import { bytes, type DriverTest, HOSTILE, text } from "./driver-fixture.ts";
import { toArray } from "./runner.ts";

const row = (ref: string, data = `data of ${ref}`) => ({
  ref,
  chars: data.length,
  meta: bytes(`meta of ${ref}`),
  data: bytes(data),
});

export function artifactTableTests(test: DriverTest): void {
  test("artifacts: the first content under a reference stays", async ({ driver: { artifacts } }, equal) => {
    equal(await artifacts.get("t", "a"), undefined);
    equal(await artifacts.put("t", row("a")), true);
    equal(await artifacts.put("t", row("a", "later")), false);
    const found = await artifacts.get("t", "a");
    equal(
      [found?.ref, found?.chars, text(found?.meta), text(found?.data)],
      ["a", 9, "meta of a", "data of a"],
    );
    equal(await artifacts.get("u", "a"), undefined);
    equal(await toArray(artifacts.list("u")), []);
  });

  test("artifacts: of many with one reference exactly one is stored", async ({ driver, another }, equal) => {
    const second = await another?.();
    const both = [driver.artifacts, second?.artifacts ?? driver.artifacts];
    const stored = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (both[i % 2] ?? driver.artifacts).put("t", row("a", `${i}`))),
    );
    equal(stored.filter(Boolean).length, 1);
    equal(text((await driver.artifacts.get("t", "a"))?.data), `${stored.indexOf(true)}`);
    await second?.close();
  });

  test("artifacts: list is in the order of storing", async ({ driver: { artifacts } }, equal) => {
    const refs = Array.from({ length: 250 }, (_, i) => `ref ${250 - i}`);
    for (const ref of refs) await artifacts.put("t", row(ref));
    const listed = await toArray(artifacts.list("t"));
    equal(
      listed.map((item) => item.ref),
      refs,
    );
    equal(listed[3] && [listed[3].chars, text(listed[3].meta), "data" in listed[3]], [
      15,
      "meta of ref 247",
      false,
    ]);
  });

  test("artifacts: references of any shape work and do not meet", async ({
    driver: { artifacts },
  }, equal) => {
    for (const name of HOSTILE) await artifacts.put(name, row(name));
    for (const name of HOSTILE) equal(text((await artifacts.get(name, name))?.data), `data of ${name}`);
  });
}
