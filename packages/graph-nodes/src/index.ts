export { type RecoverNode, type RecoverNodeOptions, recoverNode } from "./recover-node.ts";
export { type ToolsNodeOptions, toolsNode } from "./tools-node.ts";
