import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { dueResumeNote } from "./resume-notes.ts";

const human = new HumanMessage({ id: "h", content: "go" });
const answer = new AIMessage({ id: "a", content: "x" });
const config = (fields: object = {}) => ({
  writer: () => {},
  configurable: { longhaul_resume: { note: "Resumed." }, checkpoint_ns: "model:1", ...fields },
});

describe("dueResumeNote", () => {
  it("is for the first step of an invocation, and for its retries", () => {
    const invocation = config();
    expect(dueResumeNote([human], invocation)).toEqual({ note: "Resumed." });
    expect(dueResumeNote([human], { ...invocation })).toEqual({ note: "Resumed." });
    expect(dueResumeNote([human, answer], invocation)).toBeUndefined();
    expect(dueResumeNote([human, answer], config())).toEqual({ note: "Resumed." });
  });

  it("is not for a subgraph, and there is none in what is no note", () => {
    expect(dueResumeNote([human], config({ checkpoint_ns: "agent:1|model:2" }))).toBeUndefined();
    for (const longhaul_resume of [undefined, null, 7, "x", {}, { note: "" }]) {
      expect(dueResumeNote([human], config({ longhaul_resume }))).toBeUndefined();
    }
    expect(dueResumeNote([human], {})).toBeUndefined();
  });
});
