import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { InvalidOptionsError } from "../errors.ts";
import { MemoryArtifactStore } from "../storage/memory-storage.ts";
import { type RecallArgs, recall } from "./recall.ts";
import { createRecallTool } from "./recall-tool.ts";

const LONG = Array.from({ length: 2_000 }, (_, i) => `line ${i}: value ${i * 7}`).join("\n");
const messages = Array.from({ length: 10 }, (_, i) => [
  ...(i === 3 ? [new HumanMessage("Now look at the 魚 prices.")] : []),
  new AIMessage({
    id: `a${i}`,
    content: `thinking ${i}`,
    tool_calls: [{ name: "read", args: { page: i }, id: "c0" }],
  }),
  new ToolMessage({ tool_call_id: "c0", content: `result of page ${i} is W-${i}77` }),
]).flat();

async function setUp() {
  const artifacts = new MemoryArtifactStore();
  const ref = await artifacts.put("t", LONG, { kind: "tool-result", label: "read, step 4" });
  const ask = (args: RecallArgs, maxChars?: number) =>
    recall(args, { thread: "t", artifacts, messages, ...(maxChars ? { maxChars } : {}) });
  return { artifacts, ref, ask };
}

describe("recall", () => {
  it("A14: reads a long text in parts, every character of it, following its own instructions", async () => {
    const { ref, ask } = await setUp();
    let args: RecallArgs | undefined = { ref };
    let text = "";
    for (let i = 0; args && i < 100; i++) {
      const answer: string = await ask(args);
      expect(answer.length).toBeLessThanOrEqual(6_000);
      const [head = "", ...body] = answer.split("\n");
      text += body.join("\n");
      const next: string | undefined = /next: recall\((.*)\)/.exec(head)?.[1];
      args = next === undefined ? undefined : JSON.parse(next);
    }
    expect(text).toBe(LONG);
  });

  it("reads a range, and copes with what models write for a reference", async () => {
    const { ref, ask } = await setUp();
    const at = LONG.indexOf("line 500:");
    expect(await ask({ ref: `[${ref}]`, offset: at, length: 21 })).toContain("\nline 500: value 3500");
    expect(await ask({ ref, offset: 10 ** 9 })).toContain(`only ${LONG.length} characters`);
  });

  it("searches inside a text and says where to read on", async () => {
    const { ref, ask } = await setUp();
    const answer = await ask({ ref, search: "LINE 777:" });
    expect(answer).toContain("value 5439");
    const next = JSON.parse(/recall\((\{.*?\})\)/.exec(answer)?.[1] ?? "{}");
    expect(await ask({ ...next, length: 200 })).toContain("line 777: value 5439");
    expect(await ask({ ref, search: "unheard of" })).toContain("does not occur");
  });

  it("renders steps from the messages, with what the user said before them", async () => {
    const { ask } = await setUp();
    const answer = await ask({ steps: "4-5" });
    expect(answer).toMatch(/^steps 4–5:\nUser: Now look at the 魚 prices\.\n\nStep 4\n/);
    expect(answer).toContain('Call read({"page":4})\nResult: result of page 4 is W-477');
    expect(answer).not.toContain("page 5");
    expect(await ask({ steps: 2 })).toContain("W-177");
    expect(await ask({ steps: "9 – 8" })).toContain("steps 8–9");
  });

  it("searches artifacts and messages of the thread, all words of a line if not the phrase", async () => {
    const { ask, ref } = await setUp();
    const answer = await ask({ search: "w-377" });
    expect(answer).toContain('recall({"steps":"4","search":"w-377"})');
    expect(await ask({ search: "value 1500: 99999 line" })).toContain("not found");
    expect(await ask({ search: "10500 line" })).toContain(ref);
    expect(await ask({ search: "魚" })).toContain('said before step 4: recall({"steps":"4"})');
  });

  it("says clearly what does not exist or is not understood, and never throws for it", async () => {
    const { ask, artifacts } = await setUp();
    expect(await ask({ ref: "lh-0000000000000000" })).toContain("no stored text lh-0000000000000000");
    expect(await ask({ steps: "99" })).toContain("no messages of step 99");
    expect(await ask({ steps: "the last ones" })).toContain("must be one number or a range");
    expect(await ask({})).toContain("Say what to recall");
    await artifacts.put("other", "private", { kind: "x", label: "x" }, "lh-1111111111111111");
    expect(await ask({ ref: "lh-1111111111111111" })).toContain("no stored text");
    expect(await ask({ search: "private" })).toContain("not found");
  });

  it("A10 (ii): a picture is named, not poured out", async () => {
    const { artifacts, ask } = await setUp();
    const image = await artifacts.put("t", `data:image/png;base64,${"A".repeat(50_000)}`, {
      kind: "image",
      label: "image image/png, in a result, step 2",
      mediaType: "image/png",
    });
    const answer = await ask({ ref: image });
    expect(answer.length).toBeLessThan(300);
    expect(answer).toContain("step 2");
  });

  it("keeps every answer within its cap, whatever is asked", async () => {
    const { ask, ref } = await setUp();
    for (const args of [
      { ref },
      { ref, length: 10 ** 9 },
      { ref, search: "value" },
      { steps: "1-10" },
      { search: "e" },
      { ref, length: -5 },
    ]) {
      expect((await ask(args, 500)).length).toBeLessThanOrEqual(500);
    }
  });
});

describe("createRecallTool", () => {
  it("reads the thread of its config and the messages of its state", async () => {
    const { artifacts, ref } = await setUp();
    const tool = createRecallTool({ artifacts });
    expect(tool.name).toBe("recall");
    expect(tool.metadata).toMatchObject({ longhaul_effect: "none" });
    const config = {
      configurable: { thread_id: "t", __pregel_scratchpad: { currentTaskInput: { messages } } },
    };
    expect(await tool.invoke({ ref, length: 30 }, config)).toContain("line 0: value 0");
    expect(await tool.invoke({ steps: 3 }, config)).toContain("W-277");
    expect(await tool.invoke({ ref }, { configurable: { thread_id: "u" } })).toContain("no stored text");
  });

  it("refuses options that cannot work", () => {
    const artifacts = new MemoryArtifactStore();
    expect(() => createRecallTool({ artifacts, name: "re call" })).toThrow(InvalidOptionsError);
    expect(() => createRecallTool({ artifacts, maxChars: 10 })).toThrow(InvalidOptionsError);
  });
});
