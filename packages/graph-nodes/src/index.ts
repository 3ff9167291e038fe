export { type RecoverNode, type RecoverNodeOptions, recoverNode } from "./recover-node.ts";
