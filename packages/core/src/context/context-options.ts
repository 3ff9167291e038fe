import { InvalidOptionsError } from "../errors.ts";
import {
  type ResolvedSummaryOptions,
  resolveSummaryOptions,
  type SummaryOptions,
  type SummaryPrompts,
} from "../summary/summary-options.ts";

/** How the context view is built and when it folds. All token counts are calibrated estimates. */
export interface ContextOptions {
  /**
   * Size of the model's context window, in tokens; minimum 256.
   * @default the model profile's `maxInputTokens`, else 32,000 with an event that names this option
   */
  readonly window?: number | undefined;
  /**
   * Size of the working layer (steps since the last fold) at which it folds, in tokens; minimum 32, at most `hardLimit`. Lower: less
   * input per call, more summaries and more cache misses. @default the smaller of half the window and 24,000
   */
  readonly softLimit?: number | undefined;
  /**
   * Size of the whole request, system prompt and tool schemas included, above which results are cut by rule, in tokens;
   * at most `window`. The rest of the window is for the answer. @default 80 % of the window
   */
  readonly hardLimit?: number | undefined;
  /**
   * `batched`: fold when the soft limit is passed, all but a quarter of it; between folds the request only grows at its end, so
   * prompt caches hit. `eager`: fold every `summary.every` steps: smallest requests, most summaries.
   * @default "batched"
   */
  readonly fold?: "batched" | "eager" | undefined;
  /** `keep`: raw messages stay in the state. `archive` is not supported yet. @default "keep" */
  readonly history?: "keep" | "archive" | undefined;
  /** Sentences that stand in every request. Cost: their tokens in each request. @default none */
  readonly constraints?: readonly string[] | undefined;
  /**
   * What makes a sentence of a human turn a prohibition, which is then pinned outside all that folds. Called once per
   * human turn. null: none. @default a pattern for the most spoken languages
   */
  readonly prohibition?: RegExp | null | undefined;
  /** Cap of the memory layer, in tokens; minimum 200. @default 4,000 */
  readonly memoryLimit?: number | undefined;
  /** Cap of later user directions shown verbatim, in tokens; at most 10 are shown. @default 2,000 */
  readonly directionsLimit?: number | undefined;
  /**
   * Length of a tool result, in characters, above which its full text goes to the artifact store and the view shows head,
   * tail and a reference; minimum 200. @default 8,000
   */
  readonly resultLimit?: number | undefined;
  /**
   * Wait with a fold, up to the hard limit, until the model was asked twice to checkpoint and reset. Set it when the progress tools are
   * there and something asks. @default false
   */
  readonly askReset?: boolean | undefined;
  /** Name of the recall tool, as references in the view give it. @default "recall" */
  readonly recallTool?: string | undefined;
  /** How summaries are made; `summary.every` is also the distance of eager folds. @default see SummaryOptions */
  readonly summary?: SummaryOptions | undefined;
  /** Replaces the summariser's instructions; short for `summary.prompts`. @default built-in texts */
  readonly prompts?: SummaryPrompts | undefined;
}

export interface ResolvedContextOptions {
  readonly window: number | undefined;
  readonly softLimit: number | undefined;
  readonly hardLimit: number | undefined;
  readonly fold: "batched" | "eager";
  readonly constraints: readonly string[];
  readonly prohibition: RegExp | null;
  readonly memoryLimit: number;
  readonly directionsLimit: number;
  readonly resultLimit: number;
  readonly askReset: boolean;
  readonly recallTool: string;
  readonly summary: ResolvedSummaryOptions;
}

/** A sentence that forbids: what compaction loses first and what costs most to lose. Negations that only tell something do not count. */
export const PROHIBITION_PATTERN: RegExp = new RegExp(
  [
    String.raw`\b(?:never|must ?n[o']t|shall not|should ?n[o']t|under no circumstances|no longer|forbidden|prohibited)\b`,
    String.raw`(?<!\b(?:i|we|they|you|it) )\b(?:do not|don't|avoid|refrain)\b`,
    String.raw`\bonly (?:use|read|write|touch|after|if|when|with)\b`,
    String.raw`\bwithout (?:asking|approval|permission|my|our)\b`,
    String.raw`\b(?:niemals|keinesfalls|verboten|untersagt|darfst? (?:nicht|kein)|auf keinen fall)\b|\bnicht\b.*\b(?:anfassen|ändern|löschen|senden|verwenden|benutzen)`,
    String.raw`\b(?:jamais|interdit|surtout pas|(?:ne|n')\s?\S+ pas)\b`,
    String.raw`\b(?:nunca|jamás|prohibido|no (?:debes|uses|toques|borres|envíes))\b|\b(?:proibido|não (?:use|toque|apague|envie|deve))`,
    String.raw`\b(?:vietato|non (?:devi|usare|toccare|inviare|cancellare))\b`,
    "不要|不得|禁止|切勿|请勿|严禁|不可以?|不能|千万别|别(?:再|碰|动|用|改|删|发|做|去|把)",
    "絶対に|ないで(?:くだ|下)|しないで|してはいけ|禁じ|지\\s?(?:마|말)|금지|절대",
    // `\\b` knows Latin letters only. In Slavic languages the negated imperative forbids, other negations tell something.
    String.raw`(?<!\p{L})(?:никогда не|ни в коем случае|нельзя|запрещ\p{L}*|не\s+\p{L}+(?:[аяую]й(?:те)?|ите|ьте)(?!\p{L}))`,
    String.raw`(?<!\p{L})(?:nie wolno|pod żadnym pozorem|nigdy nie|nie\s+\p{L}+(?:aj|uj|ij|ń)(?:cie)?(?!\p{L}))`,
    String.raw`(?<!\p{L})(?:nooit|niet (?:aanraken|wijzigen|verwijderen|versturen|gebruiken)|verboden|onder geen beding)(?!\p{L})`,
    String.raw`(?<!\p{L})(?:rör (?:inte|ej)|aldrig|under inga omständigheter|får inte|må ikke|rør ikke)(?!\p{L})`,
    String.raw`(?<!\p{L})(?:nunca|não (?:mexa|altere|exclua|delete))(?!\p{L})`,
    String.raw`(?<!\p{L})(?:asla|sakın|kesinlikle \p{L}+m[ae])(?!\p{L})`,
    String.raw`(?<!\p{L})(?:jangan|dilarang|tidak boleh|đừng|không được|tuyệt đối không)(?!\p{L})`,
    String.raw`(?<!\p{L})(?:لا ت\p{L}+|ممنوع|يُ?منع|إياك)(?!\p{L})|(?<!\p{L})(?:कभी नहीं|मत)(?![\p{L}\p{M}])`,
  ].join("|"),
  "iu",
);

/** Window where neither an option nor a profile knows better. */
export const DEFAULT_WINDOW = 32_000;

/**
 * Fills defaults.
 * @throws InvalidOptionsError at once for a value that cannot work.
 */
export function resolveContextOptions(options: ContextOptions = {}): ResolvedContextOptions {
  atLeast("context.window", options.window, 256);
  atLeast("context.softLimit", options.softLimit, 32);
  atLeast("context.hardLimit", options.hardLimit, 64);
  atLeast("context.memoryLimit", options.memoryLimit, 200);
  atLeast("context.directionsLimit", options.directionsLimit, 50);
  atLeast("context.resultLimit", options.resultLimit, 200);
  ordered("context.hardLimit", options.hardLimit, "context.window", options.window);
  ordered("context.softLimit", options.softLimit, "context.hardLimit", options.hardLimit ?? options.window);
  if (options.fold !== undefined && options.fold !== "batched" && options.fold !== "eager")
    throw new InvalidOptionsError({
      option: "context.fold",
      value: options.fold,
      expected: '"batched" or "eager"',
    });
  if (options.history !== undefined && options.history !== "keep")
    throw new InvalidOptionsError({
      option: "context.history",
      value: options.history,
      expected: '"keep" (archiving raw messages is not supported yet)',
    });
  const constraints = options.constraints ?? [];
  if (!Array.isArray(constraints) || constraints.some((line) => typeof line !== "string" || !line.trim()))
    throw new InvalidOptionsError({
      option: "context.constraints",
      value: constraints,
      expected: "a list of sentences",
    });
  return {
    window: options.window,
    softLimit: options.softLimit,
    hardLimit: options.hardLimit,
    fold: options.fold ?? "batched",
    constraints,
    prohibition: options.prohibition === undefined ? PROHIBITION_PATTERN : options.prohibition,
    memoryLimit: options.memoryLimit ?? 4_000,
    directionsLimit: options.directionsLimit ?? 2_000,
    resultLimit: options.resultLimit ?? 8_000,
    askReset: options.askReset ?? false,
    recallTool: options.recallTool ?? "recall",
    summary: resolveSummaryOptions({
      ...options.summary,
      ...(options.prompts === undefined ? {} : { prompts: options.prompts }),
    }),
  };
}

/** The limits of one request. */
export interface ContextLimits {
  readonly window: number;
  readonly softLimit: number;
  readonly hardLimit: number;
  readonly memoryLimit: number;
}

/**
 * Limits for a window. `tight` (budget level economy and beyond) halves what memory and working layer may take.
 *
 * @param profileWindow what the model's profile says, if it says anything
 */
export function contextLimits(
  options: ResolvedContextOptions,
  profileWindow?: number | undefined,
  tight = false,
): ContextLimits {
  const window = options.window ?? profileWindow ?? DEFAULT_WINDOW;
  const share = tight ? 2 : 1;
  return {
    window,
    softLimit: Math.floor((options.softLimit ?? Math.min(window / 2, 24_000)) / share),
    hardLimit: Math.floor(Math.min(options.hardLimit ?? window * 0.8, window)),
    memoryLimit: Math.floor(options.memoryLimit / share),
  };
}

function atLeast(option: string, value: number | undefined, minimum: number): void {
  if (value !== undefined && (!Number.isFinite(value) || value < minimum))
    throw new InvalidOptionsError({ option, value, expected: `a number of at least ${minimum}` });
}

function ordered(option: string, value: number | undefined, above: string, limit: number | undefined): void {
  if (value !== undefined && limit !== undefined && value > limit)
    throw new InvalidOptionsError({ option, value, expected: `at most \`${above}\` (${limit})` });
}
