import type { StructuredToolInterface } from "@langchain/core/tools";
import { tool } from "@langchain/core/tools";
import { type Script, type ScriptRequest, type WireMessage, wireText } from "@longhaul/test-kit";
import { z } from "zod";
import { simpleLoop } from "./simple-loop.ts";

const NOTICE = `<longhaul-notice kind="progress">\nThe context is nearly full. Call checkpoint, then reset.\n</longhaul-notice>`;
const SUMMARY_PROMPT = `Answer with one JSON object: { "done": "", "outputs": [], "problems": [], "effect": "", "open": [] }`;

export interface MemoryLoopOptions {
  readonly script: Script;
  readonly tools: readonly StructuredToolInterface[];
  readonly systemPrompt: string;
  readonly goal: string;
  /** Characters of working messages at which the model is asked to reset, and then folded. */
  readonly softChars: number;
  /** Longest result that is shown in full. */
  readonly resultChars: number;
  readonly askForReset: boolean;
}

export interface MemoryLoopResult {
  readonly finalText: string;
  readonly steps: number;
  readonly resets: number;
  readonly folds: number;
  readonly recalls: number;
  readonly largestCheckpoint: number;
  readonly largestView: number;
}

/**
 * A layered context in its plainest form: goal, memory block, recent messages, with the protocols that the brain must play
 * (summaries, checkpoint and reset, recall). It tests the brain without the product.
 */
export async function memoryLoop(options: MemoryLoopOptions): Promise<MemoryLoopResult> {
  const stored = new Map<string, string>();
  const count = { resets: 0, folds: 0, recalls: 0, largestCheckpoint: 0, largestView: 0 };
  let memory: string[] = [];
  let past: readonly WireMessage[] = [];
  let cutoff = 1;
  let saved = "";
  let resetAt = 0;
  let asked = 0;

  const checkpoint = tool(
    async (args) => {
      saved = JSON.stringify(args);
      count.largestCheckpoint = Math.max(count.largestCheckpoint, saved.length);
      return "Saved.";
    },
    {
      name: "checkpoint",
      description: "Saves progress",
      schema: z.object({
        goal: z.string(),
        facts: z.array(z.object({ text: z.string(), source: z.string() })),
        done: z.array(z.string()),
        todo: z.array(z.string()),
        open: z.array(z.string()),
      }),
    },
  );
  const reset = tool(
    async () => {
      resetAt++;
      return "Reset granted.";
    },
    { name: "reset", description: "Clears the context", schema: z.object({}) },
  );
  const recall = tool(
    async ({ ref, search }) => {
      count.recalls++;
      const texts = ref === undefined ? past.map(wireText) : [stored.get(ref) ?? ""];
      const lines = texts.flatMap((text) => text.split("\n")).filter((line) => line.includes(search));
      return lines.length > 0 ? lines.join("\n") : "Nothing found.";
    },
    {
      name: "recall",
      description: "Reads stored text",
      schema: z.object({ ref: z.string().optional(), search: z.string() }),
    },
  );

  const shorten = (message: WireMessage): WireMessage => {
    const text = wireText(message);
    if (message.role !== "tool" || text.length <= options.resultChars) return message;
    const ref = `lh-${String(stored.size).padStart(16, "0")}`;
    const known = [...stored].find(([, content]) => content === text)?.[0] ?? ref;
    stored.set(known, text);
    const half = options.resultChars / 2;
    return {
      ...message,
      content: `${text.slice(0, half)}\n[… all of it: recall({"ref":"${known}"}) …]\n${text.slice(-half)}`,
    };
  };

  const summarise = async (messages: readonly WireMessage[]): Promise<string> => {
    const transcript = messages.map((it) => `${it.role}: ${wireText(it)}`).join("\n");
    const request: ScriptRequest = {
      messages: [
        { role: "system", content: SUMMARY_PROMPT },
        { role: "user", content: transcript },
      ],
      tools: [],
    };
    const summary = JSON.parse(String(await options.script(request))) as {
      done: string;
      effect: string;
      outputs: { value: string }[];
    };
    return [summary.done, ...summary.outputs.map(({ value }) => `- ${value}`), summary.effect].join("\n");
  };

  let pending = "";
  const foldTo = async (history: readonly WireMessage[], end: number) => {
    memory.push(await summarise(history.slice(cutoff, end).map(shorten)));
    cutoff = end;
    count.folds++;
  };
  const script: Script = async (request) => {
    const history = request.messages.slice(1);
    past = history;
    if (resetAt > 0) {
      memory = [saved];
      cutoff = history.length;
      resetAt = 0;
      asked = 0;
      count.resets++;
      pending = "Go on from the checkpoint; name the next step first.";
    }
    const size = (from: number) =>
      history.slice(from).reduce((sum, it) => sum + wireText(shorten(it)).length, 0);
    if (size(cutoff) > options.softChars) {
      if (options.askForReset && asked < 2) {
        asked++;
        pending = NOTICE;
      } else {
        const end = history.findLastIndex((it, i) => it.role === "assistant" && i < history.length - 1);
        await foldTo(history, end);
        asked = 0;
      }
    }
    const block = memory.length > 0 ? `\n<longhaul-memory>\n${memory.join("\n")}\n</longhaul-memory>` : "";
    const view: WireMessage[] = [
      { role: "user", content: wireText(history[0] as WireMessage) + block },
      ...history.slice(cutoff).map(shorten),
    ];
    if (pending !== "") {
      const last = view.at(-1) as WireMessage;
      if (last.role === "user") view[view.length - 1] = { ...last, content: `${wireText(last)}\n${pending}` };
      else view.push({ role: "user", content: pending });
    }
    pending = "";
    count.largestView = Math.max(
      count.largestView,
      view.reduce((sum, it) => sum + wireText(it).length, 0),
    );
    return options.script({ ...request, messages: [request.messages[0] as WireMessage, ...view] });
  };
  const { finalText, steps } = await simpleLoop({
    script,
    tools: [...options.tools, checkpoint, reset, recall],
    systemPrompt: options.systemPrompt,
    goal: options.goal,
  });
  return { finalText, steps, ...count };
}
