import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { CompactSaver } from "@longhaul/checkpointer";
import { longhaul } from "@longhaul/middleware";
import {
  countTextTokens,
  PrefixCache,
  StrictChatModel,
  StrictRuleError,
  serialiseRequest,
  type WireTool,
} from "@longhaul/test-kit";
import { createAgent } from "langchain";
import { addCosts, callCosts, NO_COSTS, type TokenCosts } from "../shared/token-costs.ts";
import {
  type Availability,
  addAvailability,
  argumentAvailability,
  NO_VALUES,
  readableText,
} from "./availability.ts";
import { leadFollower } from "./recall-leads.ts";
import type { RecordedRun } from "./recording.ts";
import { type ReplayScript, replayScript } from "./replay-script.ts";

/** What one thread came to. */
export interface ChainOutcome {
  readonly runs: number;
  /** Model calls. */
  readonly steps: number;
  readonly folds: number;
  readonly longhaul: TokenCosts;
  /** Of the same calls with every message so far and without Longhaul's tools. */
  readonly full: TokenCosts;
  readonly availability: Availability;
  /** Requests that a strict provider would have refused. */
  readonly violations: number;
  /** Why the chain ended early; what is above is of the steps until then. */
  readonly failure?: string | undefined;
}

export interface ChainOptions {
  /** Tokens of the working layer at which it folds. @default Longhaul's own */
  readonly softLimit?: number | undefined;
  /** Longest request that the model takes, in tokens. @default the window that Longhaul is told */
  readonly providerWindow?: number | undefined;
}

/** Window of the models that long recordings come from, tokens. */
const WINDOW = 128_000;
/** Above it Longhaul cuts by rule, so that no soft limit can be larger. */
export const HARD_LIMIT: number = WINDOW * 0.8;

/**
 * Plays recorded runs again, one after another in one thread, through an agent with Longhaul: the model answers what was recorded,
 * whatever it is sent, and the tools give the recorded results. Offline; summaries are made by rule.
 */
export async function replayChain(
  runs: readonly RecordedRun[],
  { softLimit, providerWindow = WINDOW }: ChainOptions = {},
): Promise<ChainOutcome> {
  const script = replayScript(runs);
  const thread = "replay";
  const saver = CompactSaver.fromConnString(":memory:");
  const model = new StrictChatModel({
    script: script.replies,
    profile: { maxInputTokens: WINDOW },
    windowTokens: providerWindow,
    cache: new PrefixCache(),
  });
  let folds = 0;
  const agent = createAgent({
    model,
    tools: toolsOf(script),
    ...(script.system === "" ? {} : { systemPrompt: script.system }),
    checkpointer: saver,
    middleware: longhaul({
      storage: saver,
      context: { softLimit, recallTool: freeName("recall", script) },
      progress: {
        checkpointName: freeName("checkpoint", script),
        resetName: freeName("reset", script),
      },
      budget: false,
      loops: false,
      events: (event) => {
        if (event.type === "fold.done") folds++;
      },
    }),
  });
  let history: readonly BaseMessage[] = [];
  let failure: string | undefined;
  let violations = 0;
  let expected = 0;
  try {
    for (const { human, calls } of script.exchanges) {
      const state = await agent.invoke(
        { messages: [{ role: "user", content: human }] },
        // Nothing crashes here, so that the state after each invocation is enough.
        { configurable: { thread_id: thread }, recursionLimit: calls * 4 + 20, durability: "exit" },
      );
      history = state.messages as readonly BaseMessage[];
      expected += calls;
      if (model.requests.length !== expected) {
        failure = `the model was called ${model.requests.length} times and not ${expected}`;
        break;
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
    violations = hasCause(error, StrictRuleError.name) ? 1 : 0;
  }
  const follow = leadFollower(thread, saver.artifacts);
  const told = await measure(model, script, history, follow);
  await saver.end();
  return { runs: runs.length, folds, violations, failure, ...told };
}

/** Compares each answered request with the thread as it was then. */
async function measure(
  model: StrictChatModel,
  script: ReplayScript,
  history: readonly BaseMessage[],
  follow: ReturnType<typeof leadFollower>,
): Promise<Pick<ChainOutcome, "steps" | "longhaul" | "full" | "availability">> {
  const cache = new PrefixCache();
  const own = new Set(script.toolNames);
  const system = script.system === "" ? [] : [new SystemMessage(script.system)];
  let earlier = "";
  let full = NO_COSTS;
  let ours = NO_COSTS;
  let availability = NO_VALUES;
  let steps = 0;
  let fullText = "";
  for (const [at, message] of history.entries()) {
    if (message.getType() === "ai") {
      const request = model.requests[steps++];
      if (!request) break;
      // Grows at its end only, so it is not written anew for each step.
      if (fullText === "") {
        const tools: WireTool[] = request.tools.filter((offered) => own.has(offered.function.name));
        fullText = serialiseRequest([...system, ...history.slice(0, at)], tools);
      }
      full = addCosts(
        full,
        callCosts({
          inputTokens: countTextTokens(fullText),
          cachedTokens: cache.serve(fullText),
        }),
      );
      ours = addCosts(ours, callCosts({ inputTokens: request.tokens, cachedTokens: request.cachedTokens }));
      const before = history.slice(0, at);
      availability = addAvailability(
        availability,
        await argumentAvailability(
          { request: request.messages, answer: message as AIMessage },
          earlier,
          (shown) => follow(shown, before),
        ),
      );
    }
    if (fullText !== "") fullText += serialiseRequest([message]);
    earlier += `${readableText([message])}\n`;
  }
  return { steps, longhaul: ours, full, availability };
}

/** Recordings say what a tool was called with, not what it takes: any object is taken. */
function toolsOf({ toolNames, results }: ReplayScript) {
  return toolNames.map((name) =>
    tool(
      (_args: unknown, config?: { toolCall?: { id?: string } }) => {
        const result = results.get(config?.toolCall?.id ?? "");
        if (result === undefined) throw new Error(`${name} was called and no recorded call is like it.`);
        return result;
      },
      {
        name,
        description: `${name}, as recorded`,
        schema: { type: "object", properties: {}, additionalProperties: true },
      },
    ),
  );
}

/** Name of a tool of Longhaul's, another one where the recording has a tool of that name. */
function freeName(name: string, { toolNames }: ReplayScript): string {
  return toolNames.includes(name) ? freeName(`longhaul_${name}`, { toolNames } as ReplayScript) : name;
}

function hasCause(error: unknown, name: string): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause.name === name) return true;
  return false;
}
