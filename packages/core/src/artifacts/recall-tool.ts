import type { BaseMessage } from "@langchain/core/messages";
import { type DynamicStructuredTool, tool } from "@langchain/core/tools";
import { z } from "zod/v4";
import { InvalidOptionsError } from "../errors.ts";
import { taskInput } from "../state/task-input.ts";
import type { ArtifactStore } from "../storage/artifact-store.ts";
import { RECALL_MAX_CHARS, type RecallArgs, recall } from "./recall.ts";

export interface RecallToolOptions {
  /** Where the stored texts are: `storage.artifacts`. */
  readonly artifacts: ArtifactStore;
  /** Name under which the model sees the tool. Letters, digits, `_` and `-`, at most 64. @default "recall" */
  readonly name?: string | undefined;
  /**
   * Longest answer in characters, minimum 500. Keep it below the limit of large results (8,000), or its answers are cut
   * themselves. @default 6_000
   */
  readonly maxChars?: number | undefined;
}

const schema = z.object({
  ref: z.string().optional().describe('Reference of a stored text, such as "lh-0123456789abcdef"'),
  steps: z.union([z.string(), z.number()]).optional().describe('Agent steps to read again, "7" or "5-9"'),
  search: z
    .string()
    .optional()
    .describe("Words to look for: in `ref`, in `steps`, or in everything of this thread"),
  offset: z.number().optional().describe("First character to read; default 0"),
  length: z.number().optional().describe("How many characters to read"),
});

/**
 * The tool with which the model reads what has left its context. Reads only, so it may run again freely (it is marked as without
 * effect). Reads the messages of the graph state that the call was made in and the artifacts of the same thread
 * (`configurable.thread_id`); another thread's are out of reach. Answers in text, also when nothing is found; its errors are the store's.
 *
 * @throws InvalidOptionsError at once.
 */
export function createRecallTool(options: RecallToolOptions): DynamicStructuredTool<typeof schema> {
  const { artifacts, name = "recall", maxChars = RECALL_MAX_CHARS } = options;
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw new InvalidOptionsError({
      option: "name",
      value: name,
      expected: "1 to 64 letters, digits, `_` or `-`",
    });
  }
  if (!Number.isInteger(maxChars) || maxChars < 500) {
    throw new InvalidOptionsError({
      option: "maxChars",
      value: maxChars,
      expected: "an integer of at least 500",
    });
  }
  return tool(
    (args: RecallArgs, config?: unknown) =>
      recall(args, { thread: threadOf(config), artifacts, messages: messagesOf(config), maxChars }),
    {
      name,
      description:
        "Reads again what is no longer in the context: a stored text by its reference, earlier steps by number, or a search over both. Long texts come in parts.",
      schema,
      metadata: { longhaul_effect: "none" },
    },
  ) as unknown as DynamicStructuredTool<typeof schema>;
}

function threadOf(config: unknown): string {
  const thread = (config as { configurable?: { thread_id?: unknown } } | undefined)?.configurable?.thread_id;
  return typeof thread === "string" ? thread : "";
}

function messagesOf(config: unknown): readonly BaseMessage[] {
  const messages = taskInput(config).messages;
  return Array.isArray(messages) ? (messages as BaseMessage[]) : [];
}
