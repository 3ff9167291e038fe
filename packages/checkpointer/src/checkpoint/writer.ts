import type { ChannelVersions, Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { type EventSink, emitter } from "@longhaul/core";
import { storable } from "../address.ts";
import type { Batch, HeadAddress, StorageDriver, ValueKey } from "../driver/driver.ts";
import type { Form } from "../encoding/node.ts";
import { ThreadGoneError, VersionConflictError } from "../errors.ts";
import { SerialQueue } from "../serial-queue.ts";
import type { Codec } from "./codec.ts";
import { valueId } from "./thread-cache.ts";

export interface PutHead extends HeadAddress {
  readonly parentId: string | undefined;
}

interface Value extends ValueKey {
  readonly form: Form;
}

type Rest = Pick<Batch, "head" | "writes">;

export interface Write {
  readonly channel: string;
  readonly value: unknown;
  readonly index: number;
}

/**
 * Encodes at once, so that what is stored is the value of the moment of the call, and commits in the order of the calls.
 */
export class Writer {
  readonly #driver: StorageDriver;
  readonly #codec: Codec;
  readonly #events: EventSink | undefined;
  readonly #now: () => number;
  /** One commit after another: a later one may rely on chunks that an earlier one wrote. */
  readonly #queue = new SerialQueue();

  constructor(
    driver: StorageDriver,
    codec: Codec,
    options: { readonly events: EventSink | undefined; readonly now: () => number },
  ) {
    this.#driver = driver;
    this.#codec = codec;
    this.#events = options.events;
    this.#now = options.now;
  }

  /** Resolves when all writes so far have ended. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async putCheckpoint(
    address: PutHead,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<void> {
    const { threadId, namespace, checkpointId, parentId } = address;
    const values = this.#newValues(checkpoint, newVersions);
    const metadataText = this.#codec.heads.metadataText(metadata);
    const written = new Set(values.map((value) => value.channel));
    const carried = Object.keys(checkpoint.channel_values ?? {})
      .filter((channel) => !written.has(channel) && checkpoint.channel_versions?.[channel] !== undefined)
      .map((channel) => ({ channel, version: String(checkpoint.channel_versions[channel]) }));
    // the versions are mutated by the caller after this call: the head's text is made now, for each answer the storage may give
    const fixed = structuredCloneHead(checkpoint);
    const head = async () => {
      const present = await this.#present(address, carried);
      const names = [...written, ...present].sort();
      const data = this.#codec.seal(this.#codec.heads.text(fixed, names, metadataText));
      return { head: { checkpointId, parentId, data } };
    };
    const result = await this.#queue.run(() => this.#commit(threadId, namespace, values, head));
    if (result.sibling !== undefined) {
      const origin = () => ({ time: this.#now(), threadId, namespace });
      emitter(
        this.#events,
        origin,
      )({
        type: "checkpoint.forked",
        checkpointId,
        parentId,
        sibling: result.sibling,
      });
    }
  }

  async putWrites(
    address: HeadAddress,
    writes: readonly Write[],
    taskId: string,
    taskPath: string,
  ): Promise<void> {
    const forms = this.#codec.encode(writes.map(({ channel, value }) => [pathOf(channel), value]));
    const rows = writes.map(({ channel, index }, i) => ({
      taskId,
      index,
      taskPath,
      channel: storable("channel", channel),
      data: this.#codec.seal((forms[i] as Form).inline),
    }));
    await this.#queue.run(() =>
      this.#commit(
        address.threadId,
        address.namespace,
        [],
        () => ({ writes: { checkpointId: address.checkpointId, rows } }),
        forms,
      ),
    );
  }

  #newValues(checkpoint: Checkpoint, newVersions: ChannelVersions): Value[] {
    const given = checkpoint.channel_values ?? {};
    const channels = Object.keys(newVersions).filter((channel) => Object.hasOwn(given, channel));
    const forms = this.#codec.encode(channels.map((channel) => [pathOf(channel), given[channel]]));
    return channels.map((channel, i) => ({
      channel: storable("channel", channel),
      version: String(newVersions[channel]),
      form: forms[i] as Form,
    }));
  }

  /**
   * Which carried values are in the storage: a checkpoint names only what can be read back.
   *
   * @throws ThreadGoneError when they went with their checkpoint: half a thread must not come back
   */
  async #present(address: PutHead, keys: readonly ValueKey[]): Promise<string[]> {
    const { threadId, namespace, parentId } = address;
    const known = this.#codec.threads.of(threadId);
    const unsure = keys.filter((key) => !known.values.has(valueId(namespace, key.channel, key.version)));
    const found = unsure.length > 0 ? await this.#driver.values(threadId, namespace, unsure) : [];
    const missing = new Set(unsure.filter((_, i) => found[i] === undefined).map((key) => key.channel));
    if (missing.size > 0 && parentId !== undefined) {
      if (!(await this.#driver.head(threadId, namespace, parentId)))
        throw new ThreadGoneError({ threadId, parentId });
    }
    return keys.filter((key) => !missing.has(key.channel)).map((key) => key.channel);
  }

  async #commit(
    threadId: string,
    namespace: string,
    values: readonly Value[],
    rest: () => Rest | Promise<Rest>,
    more: readonly Form[] = [],
  ): Promise<{ readonly sibling: string | undefined }> {
    const forms = [...values.map((value) => value.form), ...more];
    for (;;) {
      // made for what is known now: after a stale answer other values may be there
      const made = await rest();
      const known = this.#codec.threads.of(threadId);
      const chunks = this.#codec.newChunks(forms, known.chunks);
      const result = await this.#driver.commit({
        threadId,
        namespace,
        era: known.era,
        chunks: chunks.map(({ chunk, data }) => ({ hash: chunk.hash, data })),
        values: values.map(({ channel, version, form }) => ({
          channel,
          version,
          data: this.#codec.seal(form.inline),
        })),
        ...made,
      });
      if (result.ok) {
        const ids = values.map((value) => valueId(namespace, value.channel, value.version));
        const hashes = chunks.map(({ chunk }) => chunk.hash);
        this.#codec.threads.learn(threadId, result.era, hashes, ids);
        return { sibling: result.sibling };
      }
      if (result.reason === "conflict") {
        throw new VersionConflictError({
          threadId,
          channel: result.key.channel,
          version: result.key.version,
        });
      }
      // the thread was deleted or pruned elsewhere: what was known to be there is not, send everything
      this.#codec.threads.forget(threadId);
    }
  }
}

/** A write is an update of the state, so both are named as a part of it. */
function pathOf(channel: string): string {
  return `state.${channel}`;
}

function structuredCloneHead(checkpoint: Checkpoint): Omit<Checkpoint, "channel_values"> {
  return {
    v: checkpoint.v,
    id: checkpoint.id,
    ts: checkpoint.ts,
    channel_versions: { ...checkpoint.channel_versions },
    versions_seen: Object.fromEntries(
      Object.entries(checkpoint.versions_seen ?? {}).map(([node, seen]) => [node, { ...seen }]),
    ),
  };
}
