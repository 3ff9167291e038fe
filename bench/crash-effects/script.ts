import { callTools, type Reply, type ScriptRequest, wireText } from "@longhaul/test-kit";
import { type Mode, ordersOf, type Shape } from "./cells.ts";

/** What a run is asked to do, in the words of its first message. */
export type Task =
  | { readonly kind: "calls"; readonly mode: Mode; readonly shape: Shape }
  | { readonly kind: "steps"; readonly steps: number };

const STEP_KINDS: readonly (readonly (Mode | "read")[])[] = [
  ["key"],
  ["query"],
  ["record"],
  ["read"],
  ["key", "record", "query"],
];

export function wordsOf(task: Task): string {
  return task.kind === "calls" ? `Task: calls ${task.mode} ${task.shape}` : `Task: steps ${task.steps}`;
}

/** Tools and orders of one step of a long run. */
export function callsOfStep(step: number): readonly (readonly [tool: Mode | "read", order: string])[] {
  const kinds = STEP_KINDS[step % STEP_KINDS.length] as readonly (Mode | "read")[];
  return kinds.map((kind) => [kind, `O-${step}-${kind}`]);
}

/** The model: a function of the conversation alone, so that a step asked for again gets the same answer, under new ids. */
export function script({ messages }: ScriptRequest): Reply {
  const words = messages.map(wireText).find((text) => text.startsWith("Task: ")) ?? "";
  // the note that a run was resumed may stand below
  const [, kind, first = "", second = ""] = (words.split("\n", 1)[0] as string).split(" ");
  const steps = messages.filter(({ tool_calls }) => tool_calls?.length).length;
  if (kind === "steps") {
    if (steps >= Number(first)) return "done";
    return callTools(...callsOfStep(steps).map(([tool, order]) => [tool, { order }] as const));
  }
  if (steps > 0) return "done";
  const shape = second as Shape;
  if (shape === "subagent") return callTools(["delegate", { task: `Task: calls ${first} single` }]);
  return callTools(...ordersOf(shape).map((order) => [first, { order }] as const));
}
