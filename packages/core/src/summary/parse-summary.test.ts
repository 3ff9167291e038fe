import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StateFormatError } from "../errors.ts";
import { speaks, tellingScript } from "./language.ts";
import { parseSummary } from "./parse-summary.ts";
import { readSummary } from "./step-summary.ts";

const FULL = {
  done: "Did it.",
  outputs: [{ kind: "id", value: "X-1", source: "get" }],
  problems: [],
  effect: "",
  open: ["why?"],
};

describe("parseSummary", () => {
  it.each([
    ["plain", JSON.stringify(FULL)],
    ["fenced", `Here you are:\n\`\`\`json\n${JSON.stringify(FULL, null, 2)}\n\`\`\`\nDone.`],
    [
      "trailing comma",
      '{"done":"Did it.","outputs":[{"kind":"id","value":"X-1","source":"get"},],"open":["why?"],}',
    ],
    ["wrapped", JSON.stringify({ summary: FULL })],
    ["words with braces before it", `I used {x}. ${JSON.stringify(FULL)}`],
    [
      "single texts for lists, empty words",
      '{"done":"Did it.","outputs":[{"kind":"id","value":"X-1","source":"get"}],"problems":"none","open":"why?"}',
    ],
  ])("reads JSON: %s", (_, text) => {
    expect(parseSummary(text)).toEqual({ ...FULL, structured: true });
  });

  it("takes texts and unknown kinds as data", () => {
    expect(
      parseSummary('{"done":"x","outputs":["a",7,{"kind":"thing","value":"b"},{"value":""},null]}')?.outputs,
    ).toEqual([
      { kind: "data", value: "a", source: "" },
      { kind: "data", value: "7", source: "" },
      { kind: "data", value: "b", source: "" },
    ]);
  });

  it.each([
    [
      "- Step range: 1 to 5\n- Done: read it\n- Key outputs:\n  - X-1\n- Problems: none\n- Open questions: why?",
      ["X-1"],
      ["why?"],
    ],
    [
      "已完成步骤摘要：\n- 步骤范围：第 1 步到第 5 步\n- 做了什么：读取文件\n- 关键产出：X-1\n- 遇到的问题：无\n- 遗留问题：why?",
      ["X-1"],
      ["why?"],
    ],
  ])("reads headed sections: %j", (text, outputs, open) => {
    const draft = parseSummary(text);
    expect(draft?.outputs.map(({ value }) => value)).toEqual(outputs);
    expect(draft).toMatchObject({ open, problems: [], structured: false });
  });

  it("A4: what is no summary is none", () => {
    for (const text of [
      "",
      '{"done":""}',
      '{"outputs":[]}',
      '{"done": "x", "outputs": "y"',
      "Error: 500",
      "<html>",
      "Sorry, no",
      "429 Too Many Requests",
      "抱歉，我无法完成",
    ]) {
      expect(parseSummary(text)).toBeUndefined();
    }
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.json(), (a, b) => {
        parseSummary(a + b);
        parseSummary(b);
      }),
      { seed: 2 },
    );
  });
});

describe("readSummary", () => {
  const good = {
    v: 1,
    tier: 1,
    fromStep: 1,
    toStep: 5,
    done: "x",
    outputs: [],
    problems: [],
    effect: "",
    open: [],
    by: "model",
    digest: "d",
  };
  it("returns a sound one and refuses damaged or newer ones with a typed error", () => {
    expect(readSummary(good)).toEqual(good);
    for (const bad of [
      null,
      [],
      { ...good, v: 2 },
      { ...good, done: 1 },
      { ...good, outputs: [{ kind: "x" }] },
      { ...good, open: [1] },
      { ...good, by: "?" },
      { ...good, tier: 1.5 },
      { ...good, ref: 1 },
    ]) {
      expect(() => readSummary(bad)).toThrow(StateFormatError);
    }
  });
});

describe("language", () => {
  it("A16: knows the scripts that tell a language, and nothing more", () => {
    expect(tellingScript("请汇总 orders API 的状态并写成报告")).toBe("Chinese");
    expect(tellingScript("注文の状態を調べてください")).toBe("Japanese");
    expect(tellingScript("주문 상태를 알려 주세요")).toBe("Korean");
    expect(tellingScript("Покажи статус заказов")).toBe("Cyrillic");
    expect(tellingScript("responda em português: qual o risco?")).toBeUndefined();
    expect(speaks("查询了 order API，一切正常", "Chinese")).toBe(true);
    expect(speaks("All orders were shipped in time, no problems", "Chinese")).toBe(false);
  });
});
