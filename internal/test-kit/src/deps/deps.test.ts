import { describe, expect, it } from "vitest";
import { fakeClock } from "./fake-clock.ts";
import { countingIds, seededRandom } from "./seeded.ts";

describe("fakeClock", () => {
  it("wakes sleeps in order of their ends, also those that begin while it advances", async () => {
    const clock = fakeClock({ start: 1_000 });
    const woken: string[] = [];
    const note = async (name: string, ms: number) => {
      await clock.sleep(ms);
      woken.push(`${name}@${clock.now()}`);
    };
    void note("late", 50);
    void note("early", 10).then(() => note("then", 15));
    await clock.advance(30);
    expect(woken).toEqual(["early@1010", "then@1025"]);
    expect(clock.now()).toBe(1_030);
    expect(clock.sleeping).toEqual([1_050]);
    await clock.advance(20);
    expect(woken.at(-1)).toBe("late@1050");
    expect(clock.slept).toEqual([50, 10, 15]);
  });

  it("rejects an aborted sleep and forgets it", async () => {
    const clock = fakeClock();
    const controller = new AbortController();
    const sleeping = clock.sleep(10, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(sleeping).rejects.toThrow("enough");
    await expect(clock.sleep(10, { signal: controller.signal })).rejects.toThrow("enough");
    expect(clock.sleeping).toEqual([]);
  });

  it("moves by itself when told so", async () => {
    const clock = fakeClock({ autoAdvance: true });
    await clock.sleep(5_000);
    expect(clock.monotonic()).toBe(5_000);
  });
});

describe("seeded deps", () => {
  it("repeat for a seed, differ between seeds and stay in [0, 1)", () => {
    const take = (seed: number) => Array.from({ length: 100 }, seededRandom(seed));
    expect(take(7)).toEqual(take(7));
    expect(take(7)).not.toEqual(take(8));
    const numbers = take(7);
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    expect(numbers.reduce((a, b) => a + b) / 100).toBeCloseTo(0.5, 0);
    const id = countingIds("m");
    expect([id(), id()]).toEqual(["m-1", "m-2"]);
  });
});
