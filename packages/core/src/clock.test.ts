import { expect, it } from "vitest";
import { systemClock } from "./clock.ts";

it.each([2 ** 31, 1e12, Number.POSITIVE_INFINITY])("sleeps for %d ms, which one timer cannot", async (ms) => {
  const stop = new AbortController();
  const sleep = systemClock.sleep(ms, { signal: stop.signal }).then(
    () => "over",
    () => "aborted",
  );
  await systemClock.sleep(20);
  stop.abort();
  expect(await sleep).toBe("aborted");
});
