import type { ChannelVersions, Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { type EventSink, emitter } from "@longhaul/core";
import { storable } from "../address.ts";
import type { Batch, HeadAddress, StorageDriver, ValueKey } from "../driver/driver.ts";
import type { Form } from "../encoding/node.ts";
import { place } from "../encoding/place.ts";
import { FencedWriterError, RecordTooLargeError, ThreadGoneError, VersionConflictError } from "../errors.ts";
import { SerialQueue } from "../serial-queue.ts";
import type { Codec } from "./codec.ts";
import { isMigratedVersion, STATE_VERSION, VersionedWrite } from "./state-version.ts";
import { valueId } from "./thread-cache.ts";

export interface PutHead extends HeadAddress {
  readonly parentId: string | undefined;
}

interface Value extends ValueKey {
  readonly form: Form;
}

type Rest = Pick<Batch, "head" | "writes">;
type Sealed = Pick<Batch, "chunks" | "values"> & Rest;

/** Under which fencing token a call writes; undefined: without a lease. */
export type Fence = number | undefined;

/** Whether this code made the state, or took it over from another saver as it was. */
export type Provenance = "here" | "elsewhere";

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
  readonly #stateVersion: number;
  /** One commit after another: a later one may rely on chunks that an earlier one wrote. */
  readonly #queue = new SerialQueue();

  constructor(
    driver: StorageDriver,
    codec: Codec,
    options: {
      readonly events: EventSink | undefined;
      readonly now: () => number;
      /** 0: nothing is stamped. */
      readonly stateVersion: number;
    },
  ) {
    this.#driver = driver;
    this.#codec = codec;
    this.#events = options.events;
    this.#now = options.now;
    this.#stateVersion = options.stateVersion;
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
    fence: Fence,
    made: Provenance,
  ): Promise<void> {
    const { threadId, namespace, checkpointId, parentId } = address;
    const values = this.#newValues(checkpoint, {
      ...this.#migratedVersions(threadId, namespace, checkpoint),
      ...newVersions,
    });
    const stamp =
      made === "here" && this.#stateVersion > 0 ? { [STATE_VERSION]: this.#stateVersion } : undefined;
    const metadataText = this.#codec.heads.metadataText(stamp ? { ...metadata, ...stamp } : metadata);
    const written = new Set(values.map((value) => value.channel));
    const carried = Object.keys(checkpoint.channel_values ?? {})
      .filter((channel) => !written.has(channel) && checkpoint.channel_versions?.[channel] !== undefined)
      .map((channel) => ({ channel, version: String(checkpoint.channel_versions[channel]) }));
    // the versions are mutated by the caller after this call: the head's text is made now, for each answer the storage may give
    const fixed = structuredCloneHead(checkpoint);
    const head = async () => {
      const present = await this.#present(address, carried);
      const names = [...written, ...present].sort();
      const text = this.#codec.heads.text(fixed, names, metadataText);
      const data = this.#codec.seal(text, place.head(address, parentId));
      return { head: { checkpointId, parentId, data } };
    };
    const result = await this.#queue.run(() => this.#commit(address, values, head, [], fence));
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
    fence: Fence,
    made: Provenance,
  ): Promise<void> {
    const version = made === "here" ? this.#stateVersion : 0;
    const stamped = (value: unknown) => (version > 0 ? new VersionedWrite(version, value) : value);
    const forms = this.#codec.encode(writes.map(({ channel, value }) => [pathOf(channel), stamped(value)]));
    const rows = writes.map(({ channel, index }, i) => {
      const row = { taskId, index, taskPath, channel: storable("channel", channel) };
      return { ...row, data: this.#codec.seal((forms[i] as Form).inline, place.write(address, row)) };
    });
    const rest = { writes: { checkpointId: address.checkpointId, rows } };
    await this.#queue.run(() => this.#commit(address, [], () => rest, forms, fence));
  }

  /** Of channels whose value a migration made when their checkpoint was read: it is carried on, but may not be stored yet. */
  #migratedVersions(threadId: string, namespace: string, checkpoint: Checkpoint): ChannelVersions {
    if (this.#stateVersion === 0) return {};
    const known = this.#codec.threads.of(threadId);
    const entries = Object.entries(checkpoint.channel_versions ?? {}).filter(
      ([channel, version]) =>
        isMigratedVersion(version) && !known.values.has(valueId(namespace, channel, String(version))),
    );
    return Object.fromEntries(entries);
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
    { threadId, namespace }: HeadAddress,
    values: readonly Value[],
    rest: () => Rest | Promise<Rest>,
    more: readonly Form[],
    fence: Fence,
  ): Promise<{ readonly sibling: string | undefined }> {
    const forms = [...values.map((value) => value.form), ...more];
    for (;;) {
      // made for what is known now: after a stale answer other values may be there
      const made = await rest();
      const known = this.#codec.threads.of(threadId);
      const chunks = this.#codec.newChunks(threadId, forms, known.chunks);
      const rows: Sealed = {
        ...made,
        chunks,
        values: values.map(({ channel, version, form }) => {
          const key = { channel, version };
          return { ...key, data: this.#codec.seal(form.inline, place.value(threadId, namespace, key)) };
        }),
      };
      this.#checkSizes(rows);
      const result = await this.#driver.commit({
        threadId,
        namespace,
        era: known.era,
        isSame: (key, stored, given) => {
          const at = place.value(threadId, namespace, key);
          return this.#codec.unseal(stored, at) === this.#codec.unseal(given, at);
        },
        ...(fence === undefined ? {} : { guard: this.#guard(threadId, fence) }),
        ...rows,
      });
      if (result.ok) {
        const ids = values.map((value) => valueId(namespace, value.channel, value.version));
        const hashes = chunks.map((chunk) => chunk.hash);
        this.#codec.threads.learn(threadId, result.era, hashes, ids);
        return { sibling: result.sibling };
      }
      if (result.reason === "refused") throw new FencedWriterError({ threadId, token: fence ?? 0 });
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

  #guard(threadId: string, fence: number): NonNullable<Batch["guard"]> {
    const key = { collection: "leases", thread: threadId, key: "run" };
    const at = place.record(key, undefined);
    return { key, allows: (data) => data === undefined || tokenOf(this.#codec.unseal(data, at)) <= fence };
  }

  /** @throws RecordTooLargeError */
  #checkSizes({ chunks, values, head, writes }: Sealed): void {
    const maxBytes = this.#driver.maxBlobBytes;
    if (maxBytes === undefined) return;
    const check = (record: string, data: Uint8Array) => {
      if (data.length > maxBytes) throw new RecordTooLargeError({ record, bytes: data.length, maxBytes });
    };
    for (const { data } of chunks) check("A part of the state", data);
    for (const { channel, data } of values) check(pathOf(channel), data);
    for (const { channel, data } of writes?.rows ?? []) check(`A write to ${pathOf(channel)}`, data);
    if (head) check(`Checkpoint ${head.checkpointId} (versions and metadata)`, head.data);
  }
}

/** The lease's record holds a token; no record, or a token up to one's own, lets one write. */
function tokenOf(text: string): number {
  const { token } = JSON.parse(text) as { token?: unknown };
  return typeof token === "number" ? token : Number.POSITIVE_INFINITY;
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
