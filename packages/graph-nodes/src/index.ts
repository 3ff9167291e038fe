export { type RecoverNode, type RecoverNodeOptions, recoverNode } from "./recover-node.ts";
// tools
export { type ToolsNodeOptions, toolsNode } from "./tools-node.ts";
