import { expect, it } from "vitest";
import { crashFailure } from "./failure.ts";
import type { Head } from "./head.ts";
import { resumeNote } from "./resume-note.ts";

const head: Head = {
  checkpointId: "c",
  superstep: 7,
  state: {},
  values: {},
  messages: [],
  pending: ["tools"],
  finished: false,
  atStart: false,
  interrupts: [],
  onlyWaits: false,
  answers: 0,
  dangling: [{ id: "1", name: "charge" }],
  answered: ["search", "search", "read"],
  step: 4,
};

it("says where, what is finished, what failed and what to do, without a stack", () => {
  const failure = { ...crashFailure({ superstep: 7, where: ["charge"], at: 0 }), stack: "at secret.ts:1" };
  const { note, lastFailure } = resumeNote({ head, cause: "crash", failure });
  expect(note).toContain("resumed at step 4");
  expect(note).toContain("Finished calls of step 4: search (2×), read.");
  expect(note).toContain("taken up again: charge");
  expect(note).toContain("CRASH (recoverable) in charge");
  expect(note).toContain("verify its effect");
  expect(note + lastFailure).not.toContain("secret.ts");
  expect(note.length).toBeLessThan(900);
});

it("does not bring up an old failure after a planned pause", () => {
  const failure = crashFailure({ superstep: 7, where: [], at: 0 });
  const { note, lastFailure } = resumeNote({
    head: { ...head, dangling: [], answered: [] },
    cause: "pause",
    failure,
  });
  expect(note).toMatch(/^This run was paused; it has been resumed at step 4/);
  expect(note).not.toContain("failed");
  expect(lastFailure).toBeUndefined();
});
