import { hasErrorCode, LonghaulError } from "../errors.ts";

/** The request does not fit the model's window, whatever is folded and cut. */
export class RequestTooLargeError extends LonghaulError {
  readonly code = "REQUEST_TOO_LARGE";
  readonly tokens: number;
  readonly window: number;
  /** System prompt with tool schemas, task and memory: what no fold can lower. */
  readonly floor: number;

  constructor(fields: { readonly tokens: number; readonly window: number; readonly floor: number }) {
    super(
      `The request needs about ${fields.tokens} tokens and the window is ${fields.window} (${fields.floor} of them are system prompt, tools, ` +
        "task and memory). Shorten the system prompt, offer fewer tools, or set `context.window` if the model takes more.",
    );
    this.tokens = fields.tokens;
    this.window = fields.window;
    this.floor = fields.floor;
  }

  static override isInstance(error: unknown): error is RequestTooLargeError {
    return hasErrorCode(error, "REQUEST_TOO_LARGE");
  }
}

/** The first human message is too long to be kept verbatim for the whole run. */
export class GoalTooLargeError extends LonghaulError {
  readonly code = "GOAL_TOO_LARGE";
  readonly tokens: number;
  readonly limit: number;

  constructor(fields: { readonly tokens: number; readonly limit: number }) {
    super(
      `The goal (first human message) needs about ${fields.tokens} tokens; it is kept verbatim in every request, so at most a quarter of the window ` +
        `(${fields.limit}) is allowed. Give the material by a tool or a later message, or set \`context.window\` if the model takes more.`,
    );
    this.tokens = fields.tokens;
    this.limit = fields.limit;
  }

  static override isInstance(error: unknown): error is GoalTooLargeError {
    return hasErrorCode(error, "GOAL_TOO_LARGE");
  }
}
