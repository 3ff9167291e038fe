import type { Notice } from "../messages/notices.ts";
import type { Observation } from "./observation.ts";

/** What the model is told at a hint or a block; it stands in the next request only. */
export function loopHint(observation: Observation): Notice {
  const { kind, reason, signal, evidence = "" } = observation;
  const advice =
    kind === "cycle" && reason === "no_progress"
      ? "There is nothing, and that answer is final: use it, or take another way."
      : ADVICE[kind ?? "cycle"];
  const blocked = signal === "block" ? " The same calls will not be run again." : "";
  return { kind: "loop", text: `${evidence}${blocked} ${advice}` };
}

const ADVICE = {
  cycle: "Doing the same again will give the same. Say what you learned from it, then take another way.",
  actions: "Say what you are waiting for or looking for; if these calls cannot bring it, take another way.",
  error: "The same attempt fails in the same way. Check the assumption behind it before the next one.",
  no_progress:
    "Say what is still missing and the one step that would bring it; if there is none, give your answer.",
  poll: "Do something else first, or say what you are waiting for.",
  unavailable:
    "This is an outage, not your mistake. Wait as told, use another source, or go on with other steps.",
  similar: "Do not restate the plan; take its next step.",
  chant: "Say it once, and go on with the next step.",
  idle: "Call the next tool, or give your final answer.",
} as const;

/** The closing message for the user when a loop ends the run. */
export function loopReport(observation: Pick<Observation, "kind" | "evidence">): string {
  return (
    `Stopped, because the work went in circles: ${observation.evidence ?? ""} ` +
    "Hints did not help. A person is needed: give new information or another direction, and the run can go on from here."
  );
}

/** The closing message for the user when the model has nothing to say, again and again. */
export function idleReport(reason: "empty" | "no_progress", times: number): string {
  const what = reason === "empty" ? "was empty" : "only announced that work goes on";
  return (
    `Stopped without a result: the model's answer ${what} ${times} times in a row. ` +
    "A person is needed: give a direction, and the run can go on from here."
  );
}
