import type { Batch, HeadAddress, StorageDriver, WriteRow } from "../driver/driver.ts";
import { place } from "../encoding/place.ts";
import { ThreadExistsError } from "../errors.ts";
import type { Codec } from "./codec.ts";
import type { Marks } from "./marks.ts";

/** Bytes of chunks in one transaction. */
const BATCH_BYTES = 4_000_000;

/**
 * Copies checkpoints, pending writes, artifacts and marks. Ledgers (effects, budgets, runs, leases) are not copied: the copy is a thread of its own, whose
 * effects have other keys.
 *
 * Heads come last and in their order, so that a copy that was cut short has no checkpoint and may be begun again.
 *
 * @throws ThreadExistsError when the target has checkpoints
 */
export async function copyThread(
  { driver, codec, marks }: { readonly driver: StorageDriver; readonly codec: Codec; readonly marks: Marks },
  from: string,
  to: string,
): Promise<void> {
  for await (const _ of driver.heads({ threadId: to, limit: 1 }))
    throw new ThreadExistsError({ threadId: to });
  const commit = (namespace: string, rest: Partial<Batch>) =>
    driver.commit({
      threadId: to,
      namespace,
      era: undefined,
      chunks: [],
      values: [],
      isSame: () => true,
      ...rest,
    });
  let chunks: { hash: string; data: Uint8Array }[] = [];
  let bytes = 0;
  const flush = async () => {
    if (chunks.length > 0) await commit("", { chunks });
    chunks = [];
    bytes = 0;
  };
  for await (const row of driver.rows(from, ["chunk"])) {
    if (row.kind !== "chunk") continue;
    const text = codec.unseal(row.data, place.chunk(from, row.hash));
    chunks.push({ hash: row.hash, data: codec.seal(text, place.chunk(to, row.hash)) });
    bytes += row.data.length;
    if (bytes > BATCH_BYTES) await flush();
  }
  await flush();
  for await (const row of driver.rows(from, ["value"])) {
    if (row.kind !== "value") continue;
    const { namespace, channel, version } = row;
    const text = codec.unseal(row.data, place.value(from, namespace, row));
    const data = codec.seal(text, place.value(to, namespace, row));
    await commit(namespace, { values: [{ channel, version, data }] });
  }
  for await (const row of driver.rows(from, ["artifact"])) {
    if (row.kind !== "artifact") continue;
    const { ref, chars } = row;
    const meta = codec.unseal(row.meta, place.artifactMeta(from, ref, chars));
    const content = codec.unseal(row.data, place.artifact(from, ref));
    await driver.artifacts.put(to, {
      ref,
      chars,
      meta: codec.seal(meta, place.artifactMeta(to, ref, chars)),
      data: codec.seal(content, place.artifact(to, ref)),
    });
  }
  const addresses: HeadAddress[] = [];
  for await (const { threadId, namespace, checkpointId } of driver.heads({ threadId: from }))
    addresses.unshift({ threadId, namespace, checkpointId });
  for (const address of addresses) {
    const { namespace, checkpointId } = address;
    const row = await driver.head(from, namespace, checkpointId);
    if (!row) continue;
    const target = { threadId: to, namespace, checkpointId };
    const rows = (await driver.writes(address)).map((write): WriteRow => {
      const text = codec.unseal(write.data, place.write(address, write));
      return { ...write, data: codec.seal(text, place.write(target, write)) };
    });
    const text = codec.unseal(row.data, place.head(row, row.parentId));
    await commit(namespace, {
      head: {
        checkpointId,
        parentId: row.parentId,
        data: codec.seal(text, place.head(target, row.parentId)),
      },
      writes: { checkpointId, rows },
    });
  }
  for (const mark of await marks.of(from)) await marks.set({ threadId: to, ...mark }, mark.label);
}
