export { createCheckpointTool, createRecallTool, createResetTool } from "@longhaul/core";
export { contextNode, summarizeNode } from "./context-node.ts";
export { createLonghaulGraph, type LonghaulGraphOptions } from "./create-longhaul-graph.ts";
export { type GuardNodeOptions, guardNode } from "./guard-node.ts";
export {
  type LonghaulNodeState,
  type LonghaulRequest,
  LonghaulState,
  longhaulChannels,
  type PendingNotices,
} from "./longhaul-state.ts";
export { type ModelNodeOptions, modelNode } from "./model-node.ts";
export type { NodeBudget, NodeOptions, RequestOptions } from "./node-options.ts";
export { pendingNotices } from "./pending-notices.ts";
export { type RecoverNode, type RecoverNodeOptions, recoverNode } from "./recover-node.ts";
export { resetNode } from "./reset-node.ts";
export { routeAfterGuard, routeAfterModel } from "./routes.ts";
export { type ToolsNodeOptions, toolsNode } from "./tools-node.ts";
