export { type BudgetMiddlewareOptions, budgetMiddleware } from "./budget-middleware.ts";
export { runStatusMiddleware } from "./run-status-middleware.ts";
