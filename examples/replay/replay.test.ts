import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TYPESCRIPT_ARGS } from "@longhaul/test-kit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UsageError } from "../shared/usage-error.ts";
import { type MalformedLine, parseRecordings } from "./recording.ts";
import { replayChain } from "./replay-chain.ts";
import { RecordingFileError, replayFile } from "./replay-file.ts";
import { parseReplayOptions } from "./replay-options.ts";
import { END_OF_RECORDING, replayScript } from "./replay-script.ts";

interface Call {
  readonly name: string;
  readonly args: object;
  readonly result: string;
}

/** A recorded run in wire form: a system prompt, then each exchange as the user's words and the turns that follow. */
function recorded(exchanges: readonly (readonly [human: string, ...turns: (string | readonly Call[])[]])[]) {
  const messages: object[] = [{ role: "system", content: "You run a greenhouse." }];
  for (const [human, ...turns] of exchanges) {
    messages.push({ role: "user", content: human });
    for (const turn of turns) {
      if (typeof turn === "string") {
        messages.push({ role: "assistant", content: turn });
        continue;
      }
      const calls = turn.map(({ name, args }, i) => ({
        id: `call_${i}`,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      }));
      messages.push({ role: "assistant", content: null, tool_calls: calls });
      for (const [i, { result }] of turn.entries())
        messages.push({ role: "tool", tool_call_id: `call_${i}`, content: result });
    }
  }
  return JSON.stringify({ id: "greenhouse", messages });
}

const read = (sensor: string, result: string): Call => ({ name: "read_sensor", args: { sensor }, result });
const prose = "The bed was dug over, the vents were oiled and the glass was cleaned on both sides. ".repeat(
  6,
);

/** A visit to one bed: what is found out first is needed at the end. */
const visit = (n: number) =>
  recorded([
    [
      `Please look after bed BED-${n}00.`,
      [read(`BED-${n}00`, JSON.stringify({ valve_id: `VALVE-${n}77`, moisture: 300 + n }))],
      [read(`LOG-${n}00`, prose)],
      `Bed ${n} is dry. Shall I water it?`,
    ],
    [
      "Yes.",
      [{ name: "open_valve", args: { valve: `VALVE-${n}77`, litres: 250 }, result: "opened" }],
      "Done, the valve is open.",
    ],
  ]);

const parsed = (lines: readonly string[]) => parseRecordings(lines.join("\n")).runs;

describe("a chain", () => {
  it("goes through longhaul() in one thread, costs less than full history and keeps what calls need", async () => {
    const outcome = await replayChain(parsed(Array.from({ length: 16 }, (_, i) => visit(i + 1))), {
      softLimit: 600,
    });
    expect(outcome).toMatchObject({ runs: 16, steps: 16 * 5, violations: 0, failure: undefined });
    expect(outcome.folds).toBeGreaterThanOrEqual(3);
    expect(outcome.longhaul.calls).toBe(outcome.full.calls);
    // With little text in each step the record and Longhaul's tools weigh more than in real runs.
    expect(outcome.longhaul.raw).toBeLessThan(outcome.full.raw * 0.9);
    const { values, visible, recallable, lost } = outcome.availability;
    // Of each visit the bed (in the user's words), the valve; the litres from the second on. No log was ever named before.
    expect(values).toBe(16 * 2 + 15);
    expect(visible + recallable + lost).toBe(values);
    expect(lost).toBe(0);
  });

  it("costs full history and the tools on top when nothing folds, and every value is visible", async () => {
    const outcome = await replayChain(parsed([visit(1), visit(2)]));
    expect(outcome.folds).toBe(0);
    const each = (outcome.longhaul.raw - outcome.full.raw) / outcome.steps;
    expect(each).toBeGreaterThan(0);
    expect(each).toBeLessThan(1_000);
    expect(outcome.availability).toMatchObject({ values: 5, visible: 5, byRecord: 0 });
  });

  it("takes recordings as they are: results last, talk before calls, parallel calls, blanks, Longhaul's tool names", async () => {
    const own = (name: string): Call => ({ name, args: { of: "SHED-442" }, result: `${name} ran` });
    const odd = recorded([
      ["", [read("A-100", ""), read("A-100", "again")], "I look further.", [own("recall")], ""],
      ["More.", [own("checkpoint"), own("reset")]],
    ]);
    const outcome = await replayChain(parsed([odd, visit(1)]), { softLimit: 200 });
    expect(outcome).toMatchObject({ violations: 0, failure: undefined, steps: 3 + 2 + 5 });
  });

  it("counts a request that the provider refuses, and measures what went before", async () => {
    const runs = parsed([visit(1)]);
    const { longhaul } = await replayChain(runs);
    const outcome = await replayChain(runs, { providerWindow: Math.floor(longhaul.raw / longhaul.calls) });
    expect(outcome.violations).toBe(1);
    expect(outcome.failure).toContain("Rule 9");
  });
});

it("makes one invocation of each exchange, ending in an answer without calls", () => {
  const call = read("A-100", "5");
  const script = replayScript(
    parsed([
      recorded([
        ["one", "first", "second", [call]],
        ["two", "end"],
      ]),
    ]),
  );
  expect(script.exchanges).toEqual([
    { human: "one", calls: 2 },
    { human: "two", calls: 1 },
  ]);
  expect(script.replies.map((reply) => reply.content)).toEqual(["first\nsecond", END_OF_RECORDING, "end"]);
  expect([...script.results.values()]).toEqual(["5"]);
});

describe("the program", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "longhaul-replay-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const entry = fileURLToPath(new URL("replay.ts", import.meta.url));
  const replay = (...args: string[]) =>
    spawnSync(process.execPath, [...TYPESCRIPT_ARGS, entry, ...args], { cwd: folder, encoding: "utf8" });
  const file = (name: string, lines: readonly string[]) => {
    writeFileSync(join(folder, name), lines.join("\n"));
    return name;
  };

  it("replays what can be replayed, and reports a malformed line with its number", () => {
    const { status, stdout, stderr } = replay(
      file("mixed.jsonl", [visit(1), "{ not json", visit(2), visit(3)]),
      "--chain",
      "2",
    );
    expect(stderr).toMatch(/^line 2 is left out: /);
    expect(stdout).toContain("chain 2/2: 1 run, 5 steps");
    expect(stdout).toMatch(/runs +3 in 2 threads\nsteps +15\n/);
    expect(stdout).toMatch(/visible +100\.0 %/);
    expect(status).toBe(0);
  });

  it("goes on behind a thread that fails, and ends with 1", () => {
    // A goal beyond a quarter of the window is refused by Longhaul with a typed error.
    const tooLong = recorded([["word ".repeat(60_000), "No."]]);
    const { status, stdout, stderr } = replay(file("failing.jsonl", [tooLong, visit(1)]));
    expect(stderr).toMatch(/^chain 1\/2: .*FAILED: /);
    expect(stdout).toMatch(/threads that failed +1 of 2/);
    expect(stdout).toMatch(/steps +5\n/);
    expect(status).toBe(1);
  });

  it("says in one line what is wrong with a file that has nothing to replay", () => {
    const { status, stdout, stderr } = replay("absent.jsonl");
    expect(stderr).toBe("RECORDING_FILE: absent.jsonl: cannot be read (ENOENT)\n");
    expect(stdout).toBe("");
    expect(status).toBe(1);
  });

  it("refuses a file without one usable line, after it has named them all", async () => {
    const lines: number[] = [];
    const path = join(folder, file("empty.jsonl", ["", "[]", "null"]));
    const listener = { malformed: ({ line }: MalformedLine) => lines.push(line), chainDone: () => {} };
    await expect(replayFile({ file: path, chain: 1 }, listener)).rejects.toThrow(RecordingFileError);
    expect(lines).toEqual([2, 3]);
  });

  it("answers wrong options with its usage and exit code 2", () => {
    const { status, stderr } = replay("a", "--chain", "0");
    expect(stderr).toMatch(/^USAGE: --chain takes a whole number/);
    expect(stderr).toContain("npm run replay -- FILE");
    expect(status).toBe(2);
    for (const args of [[], ["a", "b"], ["a", "--chain", ""], ["a", "--soft-limit", "few"], ["a", "--what"]])
      expect(() => parseReplayOptions(args)).toThrow(UsageError);
  });
});
