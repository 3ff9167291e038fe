import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { groupMessages, type MessageGroup } from "../messages/groups.ts";

/** One agent step for tests: what the assistant says, its calls and their results (undefined: none). */
export interface TestStep {
  readonly say?: string;
  readonly calls?: readonly {
    readonly name: string;
    readonly args?: Record<string, unknown>;
    readonly result?: string;
    readonly error?: boolean;
  }[];
}

/** Builds a history for tests of this folder: a text is a human turn, anything else a step. Ids are unique and stable. */
export function testHistory(...turns: readonly (string | TestStep)[]): BaseMessage[] {
  return turns.flatMap((turn, i): BaseMessage[] => {
    if (typeof turn === "string") return [new HumanMessage({ id: `h${i}`, content: turn })];
    const calls = turn.calls ?? [];
    return [
      new AIMessage({
        id: `a${i}`,
        content: turn.say ?? "",
        tool_calls: calls.map(({ name, args }, j) => ({ name, args: args ?? {}, id: `c${i}_${j}` })),
      }),
      ...calls.flatMap(({ result, error, name }, j) =>
        result === undefined
          ? []
          : [
              new ToolMessage({
                id: `t${i}_${j}`,
                tool_call_id: `c${i}_${j}`,
                name,
                content: result,
                ...(error ? { status: "error" as const } : {}),
              }),
            ],
      ),
    ];
  });
}

export function testGroups(...turns: readonly (string | TestStep)[]): MessageGroup[] {
  return groupMessages(testHistory(...turns));
}
