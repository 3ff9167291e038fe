export { assertOrder, GuardOrderError } from "./assert-order.ts";
export { type BudgetMiddlewareOptions, budgetMiddleware } from "./budget-middleware.ts";
export { type ContextMiddlewareOptions, contextMiddleware } from "./context-middleware.ts";
export { type IdempotencyOptions, idempotencyMiddleware } from "./idempotency-middleware.ts";
export { type LonghaulOptions, longhaul } from "./longhaul.ts";
export { type LoopDetectionOptions, loopDetectionMiddleware } from "./loop-detection-middleware.ts";
export { type ProgressMiddlewareOptions, progressMiddleware } from "./progress-middleware.ts";
export { runStatusMiddleware } from "./run-status-middleware.ts";
export type { CommonOptions } from "./shared/common-options.ts";
// effects and tools
export { type ToolGuardOptions, toolGuardMiddleware } from "./tool-guard-middleware.ts";
