import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { CompactSaver } from "@longhaul/checkpointer";
import { superviseRun } from "@longhaul/core";
import { createLonghaulGraph } from "@longhaul/graph-nodes";
import { longhaul } from "@longhaul/middleware";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import job from "./job.cjs";

await job(
  {
    createAgent,
    tool,
    BaseChatModel,
    AIMessage,
    z,
    CompactSaver,
    longhaul,
    superviseRun,
    createLonghaulGraph,
  },
  "import.db",
);
