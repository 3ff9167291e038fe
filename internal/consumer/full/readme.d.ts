// What the programs in the READMEs take for granted. Their own imports go before these.
declare const model: import("@langchain/core/language_models/chat_models").BaseChatModel;
declare const search: import("@langchain/core/tools").StructuredTool;
declare const charge: import("@langchain/core/tools").StructuredTool;
declare const tools: import("@langchain/core/tools").StructuredTool[];
declare const config: import("@langchain/core/tools").ToolRunnableConfig;
declare const input: { messages: { role: "user"; content: string }[] };
declare const storage: import("@longhaul/core").LonghaulStorage;
declare const key: string;
declare const task: string;
declare const state: Parameters<typeof import("@longhaul/core").buildContext>[0];
declare const graph: Parameters<typeof import("@longhaul/core").superviseRun>[0];
declare const createAgent: typeof import("langchain").createAgent;
declare const superviseRun: typeof import("@longhaul/core").superviseRun;
declare const buildContext: typeof import("@longhaul/core").buildContext;
declare const longhaul: typeof import("@longhaul/middleware").longhaul;
declare const createLonghaulGraph: typeof import("@longhaul/graph-nodes").createLonghaulGraph;
declare const CompactSaver: typeof import("@longhaul/checkpointer").CompactSaver;
