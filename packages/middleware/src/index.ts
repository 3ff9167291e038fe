// effects and tools
export { assertOrder, GuardOrderError } from "./assert-order.ts";
export { type IdempotencyOptions, idempotencyMiddleware } from "./idempotency-middleware.ts";
export { type ToolGuardOptions, toolGuardMiddleware } from "./tool-guard-middleware.ts";
