import type { Callbacks } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Clock } from "../clock.ts";
import { fence } from "../messages/notices.ts";
import { speaks, tellingScript } from "./language.ts";
import type { SummaryDraft } from "./parse-summary.ts";
import { readAnswer } from "./read-answer.ts";
import { redactSecrets } from "./secrets.ts";
import type { SummaryFailure } from "./summary-events.ts";
import type { ResolvedSummaryOptions } from "./summary-options.ts";
import { countWords, cutLine, tokensAtMost } from "./text-size.ts";
import { chunkEntries } from "./transcript.ts";

export interface ModelSummaryInput {
  readonly fromStep: number;
  readonly toStep: number;
  /** Transcript of the range, one entry a group. */
  readonly entries: readonly string[];
  /** The user's goal: context, and the language to write in. */
  readonly goal: string;
  /** Summary of what came before, as context; may be empty. */
  readonly before: string;
}

export interface ModelSummaryDeps {
  readonly summarizer: BaseChatModel;
  readonly callbacks?: Callbacks | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Last word on a draft of a whole range: why it must not be taken, or undefined. */
  readonly refuse: (
    drafts: readonly SummaryDraft[],
  ) => { reason: SummaryFailure; message: string } | undefined;
}

export type ModelSummaryOutcome =
  | {
      readonly ok: true /** One for each chunk of the input. */;
      readonly drafts: readonly SummaryDraft[];
      readonly calls: number;
    }
  | { readonly ok: false; readonly reason: SummaryFailure; readonly message: string; readonly calls: number };

/** Without a profile and without an option: small enough for nearly every model in use. */
const DEFAULT_WINDOW = 16_000;

/**
 * Asks the summariser for one range of steps.
 *
 * Each call has a time-out, the tag `nostream` and only the given callbacks (an empty list keeps the graph's own handlers
 * out, so no token of it reaches a user's stream). Input beyond the model's window goes in chunks, one call each. Every failure is typed and tried again
 * `retries` times; nothing but cancellation and graph bubble-ups is thrown.
 */
export async function summarizeWithModel(
  input: ModelSummaryInput,
  options: ResolvedSummaryOptions,
  deps: ModelSummaryDeps,
): Promise<ModelSummaryOutcome> {
  const script = tellingScript(input.goal);
  const frame = frameOf(input, options, script);
  const window = options.summarizerWindow ?? windowOf(deps.summarizer) ?? DEFAULT_WINDOW;
  const answer = Math.min(2_000, Math.floor(window / 4));
  const room = window - answer - tokensAtMost(frame.system + frame.head + frame.tail) - RETRY_TOKENS;
  const chunks = chunkEntries(input.entries, Math.max(100, room));

  let calls = 0;
  const drafts: SummaryDraft[] = [];
  for (const [i, chunk] of chunks.entries()) {
    let failure: Failure | undefined;
    let draft: SummaryDraft | undefined;
    for (let attempt = 0; attempt <= options.retries && !draft; attempt++) {
      const last = attempt === options.retries;
      calls++;
      const outcome = await ask(
        frame,
        promptOf(frame, chunk, i, chunks.length, failure),
        options.timeoutMs,
        deps,
      );
      const judged = outcome.ok ? judge(outcome.draft, chunk, options, last ? undefined : script) : outcome;
      const refused =
        judged.ok && i === chunks.length - 1 ? deps.refuse([...drafts, judged.draft]) : undefined;
      if (judged.ok && !refused) draft = judged.draft;
      else failure = refused ? { ok: false, ...refused } : (judged as Failure);
    }
    if (!draft) {
      const { reason, message } = failure as Failure;
      return { ok: false, reason, message, calls };
    }
    drafts.push(draft);
  }
  return { ok: true, drafts, calls };
}

interface Failure {
  readonly ok: false;
  readonly reason: SummaryFailure;
  readonly message: string;
}
type Answer = { readonly ok: true; readonly draft: SummaryDraft } | Failure;

interface Frame {
  readonly system: string;
  readonly head: string;
  readonly tail: string;
}

const RETRY_TOKENS = 60;

function frameOf(
  input: ModelSummaryInput,
  options: ResolvedSummaryOptions,
  script: string | undefined,
): Frame {
  const language = script
    ? ` Write in the user's language (${script} script).`
    : " Write in the language of the user's task.";
  return {
    system: options.prompts.system,
    head: [
      input.goal && `The user's task, for context:\n${fence(cutLine(redactSecrets(input.goal), 1_000))}`,
      input.before &&
        `What is on record before these steps, for context; do not repeat it:\n${fence(input.before)}`,
    ]
      .filter(Boolean)
      .join("\n\n"),
    tail: `${options.prompts.schema}\nAt most ${options.maxWords} words and ${options.maxOutputs} outputs in all.${language}`,
  };
}

function promptOf(
  frame: Frame,
  chunk: string,
  index: number,
  count: number,
  failure: Failure | undefined,
): string {
  const part = count > 1 ? ` part="${index + 1} of ${count}"` : "";
  return [
    frame.head,
    `<longhaul-transcript${part}>\n${fence(chunk)}\n</longhaul-transcript>`,
    frame.tail,
    failure && `Your last answer could not be used (${failure.reason}). Answer again, in the form above.`,
  ]
    .filter(Boolean)
    .join("\n\n");
}

/** One call, ended by its answer, its time-out or the caller's cancellation, whichever is first. */
async function ask(frame: Frame, prompt: string, timeoutMs: number, deps: ModelSummaryDeps): Promise<Answer> {
  deps.signal?.throwIfAborted();
  const call = new AbortController();
  const signal = deps.signal ? AbortSignal.any([deps.signal, call.signal]) : call.signal;
  const answer = deps.summarizer
    .invoke([new SystemMessage(frame.system), new HumanMessage(prompt)], {
      tags: ["nostream", "longhaul:summary"],
      metadata: { longhaul_kind: "summary" },
      runName: "longhaul_summary",
      callbacks: deps.callbacks ?? [],
      signal,
    })
    .then(
      (message) => readAnswer(message, [frame.system, frame.head, frame.tail]),
      (error: unknown): Answer => {
        if (isGraphBubbleUp(error)) throw error;
        deps.signal?.throwIfAborted();
        const text = error instanceof Error ? error.message : String(error);
        return { ok: false, reason: "throw", message: cutLine(redactSecrets(text), 200) };
      },
    );
  const late = deps.clock
    .sleep(timeoutMs, { signal })
    .then((): Answer => ({ ok: false, reason: "timeout", message: `no answer within ${timeoutMs} ms` }));
  try {
    return await Promise.race([answer, late]);
  } catch (error) {
    deps.signal?.throwIfAborted();
    throw error;
  } finally {
    // Ends the sleep after an answer, and the call after a time-out; neither has anyone left to tell.
    late.catch(() => {});
    answer.catch(() => {});
    call.abort();
  }
}

function judge(
  draft: SummaryDraft,
  chunk: string,
  options: ResolvedSummaryOptions,
  script: ReturnType<typeof tellingScript>,
): Answer {
  const text = [draft.done, draft.effect, ...draft.problems, ...draft.open].join(" ");
  const words = countWords(text) + countWords(draft.outputs.map(({ value }) => value).join(" "));
  if (words > options.maxWords * 4 && words > countWords(chunk)) {
    return { ok: false, reason: "grew", message: `${words} words, more than what it replaces` };
  }
  if (script && !speaks(text, script)) {
    return { ok: false, reason: "malformed", message: `not in the user's language (${script} script)` };
  }
  return { ok: true, draft };
}

function windowOf(model: BaseChatModel): number | undefined {
  const tokens = (model as { profile?: { maxInputTokens?: unknown } }).profile?.maxInputTokens;
  return typeof tokens === "number" && tokens >= 2_000 ? tokens : undefined;
}
