// Without any optional peer: what needs none works, what needs one says which.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { CompactSaver } from "@longhaul/checkpointer";

rmSync("threads", { recursive: true, force: true });
const checkpoint = {
  v: 4,
  id: "1ef4f797-8335-6428-8001-8a1503f9b875",
  ts: "2026-12-01T00:00:00.000Z",
  channel_values: { messages: ["hello"] },
  channel_versions: { messages: 1 },
  versions_seen: {},
};
const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
for (const target of [":memory:", "file:./threads"]) {
  const saver = CompactSaver.fromConnString(target);
  await saver.put(config, checkpoint, { source: "input", step: -1, parents: {} }, { messages: 1 });
  assert.deepEqual((await saver.get(config))?.channel_values, { messages: ["hello"] });
  await saver.end();
}

for (const [target, name] of [
  ["agent.db", "better-sqlite3"],
  ["postgres://127.0.0.1:1/none", "pg"],
  ["redis://127.0.0.1:1", "redis"],
]) {
  const error = await (async () => {
    const saver = CompactSaver.fromConnString(target);
    await saver.get(config);
  })().catch((e) => e);
  assert.equal(error?.code, "MISSING_PEER", `${target}: ${error}`);
  assert.match(error.message, new RegExp(`npm install ${name}`));
}
