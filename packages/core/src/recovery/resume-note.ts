import type { ResumeNotice } from "../run/run-step.ts";
import type { RunFailure } from "./failure.ts";
import type { Head } from "./head.ts";
import type { ResumeCause } from "./recovery-events.ts";

const SUGGESTIONS: Readonly<Record<string, string>> = {
  CONTEXT_OVERFLOW: "Keep further results short; ask for parts instead of whole documents.",
  CRASH: "If a call may have changed something outside, verify its effect before you repeat it.",
};

const BY_CLASS: Readonly<Record<RunFailure["class"], string>> = {
  retryable: "The service was not available for a while; the same call may work now.",
  recoverable: "If the same happens again, try another way or a smaller step.",
  fatal: "The cause has been looked at by a person; check whether it is gone before you rely on it.",
};

/**
 * Tells the model that it has been resumed: at which step, what was finished before, and if it failed: the step, the kind of
 * failure, its reason in one line, and a suggestion.
 */
export function resumeNote(given: {
  readonly head: Head;
  readonly cause: ResumeCause;
  readonly failure?: RunFailure | undefined;
}): ResumeNotice {
  const { head, failure } = given;
  const why = {
    crash: "The process that drove this run ended unexpectedly",
    failure: "An attempt of this run failed",
    pause: "This run was paused",
  }[given.cause];
  const parts = [
    `${why}; it has been resumed at step ${head.step} from its saved state. All that stands above is finished: do not start over.`,
  ];
  if (head.answered.length > 0) parts.push(`Finished calls of step ${head.step}: ${listed(head.answered)}.`);
  const open = head.dangling.map((call) => call.name);
  if (open.length > 0) parts.push(`Calls that were cut and are taken up again: ${listed(open)}.`);
  if (!failure || given.cause === "pause") return { note: parts.join(" ") };
  const reason = failureLine(failure);
  parts.push(`What failed: ${reason}`, SUGGESTIONS[failure.code] ?? BY_CLASS[failure.class]);
  return { note: parts.join(" "), lastFailure: reason };
}

/** A failure in one line, as state and the model may see it. */
function failureLine(failure: RunFailure): string {
  const where = failure.where.length > 0 ? ` in ${listed(failure.where)}` : "";
  return `${failure.code} (${failure.class})${where}: ${failure.message}`;
}

function listed(names: readonly string[]): string {
  const counted = new Map<string, number>();
  for (const name of names) counted.set(name, (counted.get(name) ?? 0) + 1);
  const shown = [...counted].slice(0, 8).map(([name, count]) => (count > 1 ? `${name} (${count}×)` : name));
  return counted.size > 8 ? `${shown.join(", ")}, …` : shown.join(", ");
}
