// tools
export { type ToolsNodeOptions, toolsNode } from "./tools-node.ts";
