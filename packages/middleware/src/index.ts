export { type ContextMiddlewareOptions, contextMiddleware } from "./context-middleware.ts";
export { type LoopDetectionOptions, loopDetectionMiddleware } from "./loop-detection-middleware.ts";
export { type ProgressMiddlewareOptions, progressMiddleware } from "./progress-middleware.ts";
export { type BudgetMiddlewareOptions, budgetMiddleware } from "./budget-middleware.ts";
export { runStatusMiddleware } from "./run-status-middleware.ts";
