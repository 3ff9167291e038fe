export { createCheckpointTool, createRecallTool, createResetTool } from "@longhaul/core";
export { contextNode, summarizeNode } from "./context-node.ts";
export { createLonghaulGraph, type LonghaulGraphOptions } from "./create-longhaul-graph.ts";
export { type GuardNodeOptions, guardNode } from "./guard-node.ts";
export {
  type LonghaulNodeState,
  type LonghaulRequest,
  LonghaulState,
  longhaulChannels,
} from "./longhaul-state.ts";
export { type ModelNodeOptions, modelNode } from "./model-node.ts";
export type { NodeOptions, RequestOptions } from "./node-options.ts";
export { type RecoverNode, type RecoverNodeOptions, recoverNode } from "./recover-node.ts";
export { resetNode } from "./reset-node.ts";
export { routeAfterGuard, routeAfterModel } from "./routes.ts";
export { type ToolsNodeOptions, toolsNode } from "./tools-node.ts";
