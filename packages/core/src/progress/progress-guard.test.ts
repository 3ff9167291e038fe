import { describe, expect, it } from "vitest";
import { askForReset } from "./progress-guard.ts";
import { progressState } from "./progress-state.ts";

describe("askForReset", () => {
  const at = (step: number, over = true) => ({ over, since: 4, step });

  it("asks for two turns of a working layer, then no more until the next one", () => {
    const first = askForReset(progressState(), at(7));
    expect(first).toEqual({ atStep: 7, times: 1 });
    const second = askForReset({ ...progressState(), asked: first }, at(8));
    expect(second).toEqual({ atStep: 8, times: 2 });
    expect(askForReset({ ...progressState(), asked: second }, at(9))).toBeUndefined();
    expect(askForReset({ ...progressState(), asked: second }, { over: true, since: 8, step: 9 })).toEqual({
      atStep: 9,
      times: 1,
    });
  });

  it("a step whose request is built anew is asked again, and counts once", () => {
    for (const times of [1, 2]) {
      const asked = { atStep: 7, times };
      expect(askForReset({ ...progressState(), asked }, at(7))).toBe(asked);
      expect(askForReset({ ...progressState(), asked }, at(7, false))).toBeUndefined();
    }
  });
});
