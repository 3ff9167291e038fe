const job = require("./job.cjs");

job(
  {
    ...require("langchain"),
    ...require("@langchain/core/language_models/chat_models"),
    ...require("@langchain/core/messages"),
    ...require("zod"),
    ...require("@longhaul/checkpointer"),
    ...require("@longhaul/core"),
    ...require("@longhaul/graph-nodes"),
    ...require("@longhaul/middleware"),
  },
  "require.db",
).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
