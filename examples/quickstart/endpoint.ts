import { ChatOpenAI } from "@langchain/openai";
import { callTools, ScriptedServer, wireText } from "@longhaul/test-kit";

/** A model: yours when BASE_URL, MODEL and API_KEY are set, else a scripted one that looks a price up, pays it and says so. */
export async function startEndpoint(): Promise<{ model: ChatOpenAI; stop(): Promise<void> }> {
  const { BASE_URL, MODEL, API_KEY } = process.env;
  if (BASE_URL && MODEL) {
    const model = new ChatOpenAI({
      model: MODEL,
      apiKey: API_KEY ?? "none",
      configuration: { baseURL: BASE_URL },
    });
    return { model, stop: async () => {} };
  }
  const server = await ScriptedServer.start({
    script: ({ messages }) => {
      const seen = messages.map(wireText).join("\n");
      const price = /costs (\d+) EUR/.exec(seen)?.[1];
      if (!price) return callTools(["search", { query: "price of O-7" }]);
      if (!seen.includes("paid")) return callTools(["charge", { order: "O-7", euros: Number(price) }]);
      return `Order O-7 is paid: ${price} EUR.`;
    },
  });
  const model = new ChatOpenAI({ model: "scripted", apiKey: "none", configuration: { baseURL: server.url } });
  return { model, stop: () => server.close() };
}
