import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { calibrate, estimateTokens, IMAGE_TOKENS, measureMessage, measureTools } from "./token-measure.ts";

/**
 * Texts with the counts of two public vocabularies (o200k, cl100k): the estimate is never below half of the larger one.
 * Counted once and written down, so that no vocabulary of megabytes is a dependency.
 */
const REFERENCE: readonly (readonly [name: string, text: string, tokens: number])[] = [
  ["Han", "長任務代理跑到後面容易越跑越笨，上下文裡塞滿了失敗的嘗試與重複的網頁內容。".repeat(20), 1_160],
  [
    "Hangul",
    "이 작업은 오랫동안 실행되며 중간 결과를 저장해야 합니다. 절대 삭제하지 마세요. ".repeat(20),
    661,
  ],
  [
    "Kana",
    "このタスクはながいあいだじっこうされ、ちゅうかんけっかをほぞんします。カタカナテキスト ".repeat(20),
    840,
  ],
  ["Arabic", "هذه المهمة تستمر لساعات طويلة ويجب حفظ النتائج الوسيطة دون حذف أي شيء ".repeat(20), 1_041],
  ["Greek", "Αυτή η εργασία διαρκεί ώρες και τα αποτελέσματα πρέπει να αποθηκεύονται. ".repeat(20), 1_281],
  ["emoji", "😀🎉🚀👩‍👩‍👧‍👦🇩🇪👍🏽".repeat(60), 2_280],
  ["Tibetan", "ཀཁགང".repeat(100), 800],
  ["capitals", "ABCDEFGHIJ KLMNOP ".repeat(50), 398],
  ["spaces", " ".repeat(3_000), 24],
  ["lines", "│─┌┐".repeat(100), 600],
];

describe("estimateTokens", () => {
  it.each(REFERENCE)("A9: %s is not below half of a real count", (_name, text, tokens) => {
    expect(estimateTokens(text)).toBeGreaterThan(tokens / 2);
  });

  it("A9: Han, Hangul and Kana at 0.6 tokens a character and more; spaces and English not overrated", () => {
    for (const [name, text] of REFERENCE.slice(0, 3))
      expect(estimateTokens(text) / text.length, name).toBeGreaterThanOrEqual(0.6);
    expect(estimateTokens("汉".repeat(10_500))).toBeGreaterThan(6_000);
    expect(estimateTokens(" ".repeat(3_000))).toBeLessThan(300);
    const english =
      "The working layer holds the groups since the cut-off, and then the notices of this step. ";
    expect(estimateTokens(english.repeat(50)) / 1_000).toBeCloseTo(0.95, 0);
  });
});

describe("measureMessage", () => {
  it("A10: a picture has a flat cost, whatever its base64 is", () => {
    const picture = {
      type: "image_url",
      image_url: { url: `data:image/png;base64,${"A".repeat(1_600_000)}` },
    };
    const message = new HumanMessage({
      content: [{ type: "text", text: "what colour is the bar?" }, picture],
    });
    expect(measureMessage(message)).toBeLessThan(IMAGE_TOKENS + 20);
    expect(
      measureMessage(new HumanMessage({ content: [{ type: "image", data: "A".repeat(1e6) }] as never })),
    ).toBeLessThan(IMAGE_TOKENS + 20);
  });

  it("counts the arguments of calls once, though providers repeat them as blocks", () => {
    const args = { text: "word ".repeat(400) };
    const call = { id: "c1", name: "write", args };
    const plain = measureMessage(new AIMessage({ content: "", tool_calls: [call] }));
    const block = { type: "tool_use", id: "c1", name: "write", input: args };
    expect(measureMessage(new AIMessage({ content: [block] as never, tool_calls: [call] }))).toBe(plain);
    expect(plain).toBeGreaterThan(400);
  });

  it("A9: tool schemas are counted, in any form in which they are bound", () => {
    const schema = z.object({ path: z.string().describe("where it is. ".repeat(50)) });
    const read = tool(async () => "", { name: "read", description: "Reads", schema });
    expect(measureTools([read])).toBeGreaterThan(150);
    expect(
      measureTools([{ type: "function", function: { name: "a", description: "b ".repeat(200) } }]),
    ).toBeGreaterThan(150);
    expect(measureTools([undefined, "x", {}])).toBeLessThan(20);
  });
});

describe("calibrate", () => {
  it("A9: scales by what the provider counted, within bounds, and keeps a factor that hardly changes", () => {
    expect(calibrate(1, 5_000, { input_tokens: 7_100 })).toBe(1.42);
    expect(calibrate(1.42, 5_000, { input_tokens: 7_200 })).toBe(1.42);
    expect(calibrate(1, 1_000, { input_tokens: 15_000 })).toBe(3);
    expect(calibrate(1, 1_000, { input_tokens: 100 })).toBe(0.5);
  });

  it("absurd and missing reports change nothing; cached tokens beside the input are added", () => {
    for (const usage of [
      undefined,
      null,
      {},
      { input_tokens: Number.NaN },
      { input_tokens: -5 },
      { input_tokens: "9" },
      { input_tokens: 1e9 },
    ])
      expect(calibrate(1.2, 1_000, usage)).toBe(1.2);
    const apart = { input_tokens: 100, input_token_details: { cache_read: 1_000, cache_creation: 0 } };
    expect(calibrate(1, 1_000, apart)).toBe(1.1);
  });
});
