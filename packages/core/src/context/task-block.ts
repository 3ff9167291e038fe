import { shortenText } from "../artifacts/offload.ts";
import { fence } from "../messages/notices.ts";
import type { TaskState } from "./task-state.ts";
import { estimateTokens } from "./token-measure.ts";

/** Most directions that are shown verbatim, whatever they cost. */
const MOST_DIRECTIONS = 10;
/** Most older ones that get a line of their own; the rest are counted. */
const MOST_INDEXED = 20;

/**
 * What stands behind the goal in the first human message: constraints and those later turns of the user that left the working
 * layer. undefined when there is nothing to say.
 *
 * @param shownConstraints how many of the task's own constraints; those of the options are always shown
 * @param visible ids of human messages in the working layer: not repeated
 * @param limit cap of the verbatim directions, in tokens
 */
export function taskBlock(
  task: TaskState,
  input: {
    readonly constraints: readonly string[];
    readonly shownConstraints: number;
    readonly visible: ReadonlySet<string>;
    readonly limit: number;
    readonly recallTool: string;
  },
): string | undefined {
  const directions = directionLines(
    task.directions.filter((turn) => !input.visible.has(turn.messageId)),
    input.limit,
    input.recallTool,
  );
  const said = [task.goal.text, ...directions].join("\n");
  const constraints = [
    ...new Set([...input.constraints, ...task.constraints.slice(0, input.shownConstraints)]),
  ].filter((line) => input.constraints.includes(line) || !said.includes(line));
  if (constraints.length === 0 && directions.length === 0) return undefined;
  return [
    "<longhaul-task>",
    ...(constraints.length === 0
      ? []
      : ["These hold for the whole task:", ...constraints.map((line) => `- ${fence(line)}`)]),
    ...(directions.length === 0
      ? []
      : [
          "The user's later turns so far, oldest first; a later one outranks an earlier one and the goal:",
          ...directions,
        ]),
    "</longhaul-task>",
  ].join("\n");
}

/** Newest first get the room; older ones become a line that says where they are. */
function directionLines(directions: TaskState["directions"], limit: number, recallTool: string): string[] {
  let left = limit;
  const lines: string[] = [];
  let indexed = 0;
  for (let i = directions.length - 1; i >= 0; i--) {
    const { text, ref } = directions[i] as TaskState["directions"][number];
    const stored = ref === undefined ? "" : `: ${recallTool}({"ref":"${ref}"})`;
    const verbatim = text !== undefined && lines.length < MOST_DIRECTIONS ? fence(text) : undefined;
    const tokens = verbatim === undefined ? 0 : estimateTokens(verbatim);
    if (verbatim !== undefined && tokens <= left) {
      left -= tokens;
      lines.push(`[${i + 1}] ${verbatim}`);
    } else if (verbatim !== undefined && left > 100) {
      // Pasted material: what can be read of it, and where the rest is.
      lines.push(`[${i + 1}] ${shortenText(verbatim, left * 2, ref)}`);
      left = 0;
    } else if (indexed++ < MOST_INDEXED) lines.push(`[${i + 1}] (earlier turn${stored})`);
    else {
      lines.push(`[1–${i + 1}] (earlier turns; ${recallTool}({"search":"…"}) finds them)`);
      break;
    }
  }
  return lines.reverse();
}
