import { hasErrorCode, LonghaulError } from "../errors.ts";

/** The model's answer was cut off in the middle of a call's arguments; the tool was not run. */
export class ToolArgumentsCutError extends LonghaulError {
  readonly code = "TOOL_ARGUMENTS_CUT";
  readonly tool: string;

  constructor(fields: { readonly tool: string }) {
    super(
      `The arguments of this call of \`${fields.tool}\` are not complete: the answer was cut off in the middle of them. ` +
        "The tool was not run. Make the call again with complete arguments.",
    );
    this.tool = fields.tool;
  }

  static override isInstance(error: unknown): error is ToolArgumentsCutError {
    return hasErrorCode(error, "TOOL_ARGUMENTS_CUT");
  }
}

/** A tool did not end in time. Whether it had its effect is unknown. */
export class ToolTimeoutError extends LonghaulError {
  readonly code = "TOOL_TIMEOUT";
  override readonly retryable = true;
  readonly tool: string;
  readonly timeoutMs: number;

  constructor(fields: { readonly tool: string; readonly timeoutMs: number }) {
    super(`Tool \`${fields.tool}\` did not end within ${fields.timeoutMs} ms.`);
    this.tool = fields.tool;
    this.timeoutMs = fields.timeoutMs;
  }

  static override isInstance(error: unknown): error is ToolTimeoutError {
    return hasErrorCode(error, "TOOL_TIMEOUT");
  }
}
