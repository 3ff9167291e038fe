import { createHash } from "node:crypto";
import type { HeadAddress, StorageDriver } from "../driver/driver.ts";
import { place } from "../encoding/place.ts";
import { NoSuchCheckpointError } from "../errors.ts";
import type { Codec } from "./codec.ts";
import type { Marks } from "./marks.ts";
import { toReadable } from "./readable.ts";

export const EXPORT_FORMAT = "longhaul-thread";
export const EXPORT_VERSION = 1;

/**
 * A thread as JSON Lines: a header, elements (each once), channel values, artifacts, checkpoints with their pending writes oldest first, marks, and an
 * end with the number of lines and a SHA-256 of all before it. Not encrypted. The forms are described in docs/stored-format.md.
 *
 * @throws NoSuchCheckpointError when the thread has no checkpoints
 */
export async function* exportThread(
  { driver, codec, marks }: { readonly driver: StorageDriver; readonly codec: Codec; readonly marks: Marks },
  threadId: string,
): AsyncGenerator<string> {
  const hash = createHash("sha256");
  let lines = 0;
  const line = (value: object): string => {
    const text = JSON.stringify(value);
    hash.update(`${text}\n`, "utf8");
    lines += 1;
    return text;
  };
  const addresses: HeadAddress[] = [];
  for await (const { namespace, checkpointId } of driver.heads({ threadId }))
    addresses.push({ threadId, namespace, checkpointId });
  if (addresses.length === 0) throw new NoSuchCheckpointError({ threadId });
  yield line({ kind: "thread", format: EXPORT_FORMAT, version: EXPORT_VERSION, threadId });
  for await (const row of driver.rows(threadId, ["chunk"])) {
    if (row.kind !== "chunk") continue;
    const text = codec.unseal(row.data, place.chunk(threadId, row.hash));
    yield line({ kind: "element", hash: row.hash, items: toReadable(text) });
  }
  for await (const row of driver.rows(threadId, ["value"])) {
    if (row.kind !== "value") continue;
    const { namespace, channel, version } = row;
    const [value] = toReadable(codec.unseal(row.data, place.value(threadId, namespace, row)));
    yield line({ kind: "value", namespace, channel, version, value });
  }
  for await (const row of driver.rows(threadId, ["artifact"])) {
    if (row.kind !== "artifact") continue;
    const { ref, chars } = row;
    const meta: unknown = JSON.parse(codec.unseal(row.meta, place.artifactMeta(threadId, ref, chars)));
    const content: unknown = JSON.parse(codec.unseal(row.data, place.artifact(threadId, ref)));
    yield line({ kind: "artifact", ref, meta, content });
  }
  for (const address of addresses.reverse()) {
    const { namespace, checkpointId } = address;
    const row = await driver.head(threadId, namespace, checkpointId);
    // pruned since
    if (!row) continue;
    const { parentId } = row;
    const [checkpoint, metadata] = toReadable(codec.unseal(row.data, place.head(row, parentId)));
    yield line({
      kind: "checkpoint",
      namespace,
      checkpointId,
      parentId: parentId ?? null,
      checkpoint,
      ...(metadata === undefined ? {} : { metadata }),
    });
    for (const write of await driver.writes(address)) {
      const { taskId, index, taskPath, channel } = write;
      const [value] = toReadable(codec.unseal(write.data, place.write(address, write)));
      yield line({ kind: "write", namespace, checkpointId, taskId, index, taskPath, channel, value });
    }
  }
  for (const { namespace, checkpointId, label } of await marks.of(threadId))
    yield line({ kind: "mark", namespace, checkpointId, label });
  yield JSON.stringify({ kind: "end", lines, sha256: hash.digest("hex") });
}
