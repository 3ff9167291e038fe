import { hasErrorCode, LonghaulError } from "../errors.ts";

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
