import type { LonghaulEvent } from "@longhaul/core";
import { describe, expect, it } from "vitest";
import { ProgressLine } from "./progress-line.ts";

const origin = { time: 0, threadId: "t", namespace: "" };
const built = (step: number) =>
  ({
    ...origin,
    step,
    type: "context.built",
    system: 23_456,
    task: 172,
    memory: 13_456,
    working: 110_500,
  }) as unknown as LonghaulEvent;
const moved = (step: number) =>
  ({ ...origin, step, type: "run.moved", to: "WAITING_TOOL" }) as unknown as LonghaulEvent;

function shown(isTTY: boolean, columns?: number) {
  const written: string[] = [];
  const line = new ProgressLine(150, { isTTY, columns, write: (text: string) => written.push(text) });
  return { line, written };
}

describe("ProgressLine", () => {
  it("writes a plain line every 25 steps where there is no terminal", () => {
    const { line, written } = shown(false);
    for (let step = 1; step <= 60; step++) line.see(built(step));
    line.note("kill 1");
    line.end();
    expect(written).toHaveLength(3);
    expect(written[0]).toBe(
      "  step 25 RUNNING · system 23.5k task 172 memory 13.5k work 110.5k · folds 0 resets 0 · budget 0 %\n",
    );
    expect(written[2]).toBe("  kill 1\n");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what is looked for
    expect(written.join("")).not.toMatch(/[\r\x1b]/);
  });

  it.each([40, 80, undefined])(
    "draws two lines that fit a terminal of %s columns, and takes them back",
    (columns) => {
      const { line, written } = shown(true, columns);
      for (const event of [built(75), moved(75)]) line.see(event);
      line.end();
      line.end();
      const erase = "\r\x1b[2K\x1b[1A\x1b[2K";
      const frames = written.filter((text) => text !== erase);
      expect(written.filter((text) => text === erase)).toHaveLength(2);
      expect(frames).toHaveLength(2);
      expect(frames[1]).toContain(`${"█".repeat(15)}${"░".repeat(15)} 75`);
      for (const text of frames.flatMap((frame) => frame.split("\n"))) {
        expect(text.length).toBeLessThan(columns ?? 80);
      }
    },
  );
});
