import { createHash } from "node:crypto";
import type { ArtifactMeta } from "@longhaul/core";
import { namespaceOf, storable } from "../address.ts";
import type { ArtifactRow, Batch, StorageDriver, WriteRow } from "../driver/driver.ts";
import { hashOf } from "../encoding/chunk.ts";
import { place } from "../encoding/place.ts";
import { DamagedRecordError, ImportError, ThreadExistsError } from "../errors.ts";
import type { Codec } from "./codec.ts";
import { EXPORT_FORMAT, EXPORT_VERSION } from "./export-thread.ts";
import type { Marks } from "./marks.ts";
import { toStored } from "./readable.ts";

export interface ImportOptions {
  /** @default the thread id in the file */
  readonly threadId?: string | undefined;
}

export interface ImportParts {
  readonly driver: StorageDriver;
  readonly codec: Codec;
  readonly marks: Marks;
}

interface Checkpoint {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId: string | undefined;
  readonly text: string;
  readonly writes: (Omit<WriteRow, "data"> & { readonly text: string })[];
}

type Line = Readonly<Record<string, unknown>>;

/** Characters of elements in one transaction. */
const BATCH_CHARS = 4_000_000;

/**
 * Reads what `exportThread` wrote. Artifacts and checkpoints are stored last, when the end of the file has proved that all of it is there;
 * until then the thread does not exist for anyone. Costs memory for the packed artifacts, heads and writes of the thread.
 *
 * @throws ImportError with the number of the line; ThreadExistsError. Nothing is left behind of a bad file. Where the storage itself fails
 * at the end, sound artifacts may stay: a repeated import finds them, `deleteThread` erases them.
 */
export async function importThread(
  parts: ImportParts,
  lines: AsyncIterable<string> | Iterable<string>,
  options: ImportOptions = {},
): Promise<string> {
  const reader = new ImportReader(parts, options.threadId);
  try {
    for await (const text of lines) await reader.read(text);
    await reader.finish();
    return reader.threadId;
  } catch (error) {
    await reader.discard();
    throw error;
  }
}

class ImportReader {
  readonly #parts: ImportParts;
  readonly #wantedId: string | undefined;
  readonly #hash = createHash("sha256");
  readonly #checkpoints = new Map<string, Checkpoint>();
  readonly #artifacts: ArtifactRow[] = [];
  readonly #marks: { namespace: string; checkpointId: string; label: string }[] = [];
  #threadId: string | undefined;
  #line = 0;
  #ended = false;
  #isOurs = false;
  #chunks: { hash: string; data: Uint8Array }[] = [];
  #chars = 0;

  constructor(parts: ImportParts, threadId: string | undefined) {
    this.#parts = parts;
    this.#wantedId = threadId === undefined ? undefined : storable("threadId", threadId);
  }

  get threadId(): string {
    if (this.#threadId === undefined) throw this.#fault("there is no header line");
    return this.#threadId;
  }

  async read(text: unknown): Promise<void> {
    if (typeof text === "string" && text.trim() === "") return;
    this.#line += 1;
    if (typeof text !== "string") throw this.#fault("it is no text");
    if (this.#ended) throw this.#fault("something follows the end");
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch (cause) {
      throw this.#fault("it is not JSON", cause);
    }
    if (typeof line !== "object" || line === null) throw this.#fault("it is no object");
    if (line.kind === "end") return this.#end(line);
    this.#hash.update(`${text.replace(/\r?\n$/, "")}\n`, "utf8");
    try {
      await this.#take(line);
    } catch (cause) {
      if (DamagedRecordError.isInstance(cause)) throw this.#fault(cause.reason, cause);
      throw cause;
    }
  }

  async #take(line: Line): Promise<void> {
    const { codec } = this.#parts;
    if (this.#threadId === undefined) return this.#begin(line);
    const threadId = this.#threadId;
    switch (line.kind) {
      case "element": {
        const hash = this.#text(line, "hash");
        const text = toStored(this.#list(line, "items"));
        if (hashOf(text) !== hash) throw this.#fault("the element's content has another hash");
        this.#chunks.push({ hash, data: codec.seal(text, place.chunk(threadId, hash)) });
        this.#chars += text.length;
        if (this.#chars > BATCH_CHARS) await this.#flush();
        return;
      }
      case "value": {
        const namespace = namespaceOf(line.namespace);
        const key = { channel: this.#text(line, "channel"), version: this.#text(line, "version") };
        const data = codec.seal(toStored([line.value]), place.value(threadId, namespace, key));
        await this.#commit(namespace, { values: [{ ...key, data }] });
        return;
      }
      case "artifact": {
        const ref = this.#text(line, "ref");
        const { content } = line;
        if (typeof content !== "string") throw this.#fault("`content` is no text");
        const chars = content.length;
        const meta = line.meta as ArtifactMeta;
        this.#artifacts.push({
          ref,
          chars,
          meta: codec.seal(JSON.stringify(meta), place.artifactMeta(threadId, ref, chars)),
          data: codec.seal(JSON.stringify(content), place.artifact(threadId, ref)),
        });
        return;
      }
      case "checkpoint": {
        const namespace = namespaceOf(line.namespace);
        const checkpointId = this.#text(line, "checkpointId");
        const parentId = line.parentId === null ? undefined : this.#text(line, "parentId");
        const text = toStored("metadata" in line ? [line.checkpoint, line.metadata] : [line.checkpoint]);
        // a head that cannot be read must not be stored
        codec.heads.read(text);
        const id = JSON.stringify([namespace, checkpointId]);
        if (this.#checkpoints.has(id)) throw this.#fault("the checkpoint stands in the file twice");
        this.#checkpoints.set(id, { namespace, checkpointId, parentId, text, writes: [] });
        return;
      }
      case "write": {
        const checkpoint = this.#checkpoints.get(JSON.stringify([line.namespace, line.checkpointId]));
        if (!checkpoint) throw this.#fault("the write belongs to no checkpoint before it");
        const { index, taskPath } = line;
        if (!Number.isSafeInteger(index) || typeof taskPath !== "string")
          throw this.#fault("the write has no place");
        checkpoint.writes.push({
          taskId: this.#text(line, "taskId"),
          index: index as number,
          taskPath,
          channel: this.#text(line, "channel"),
          text: toStored([line.value]),
        });
        return;
      }
      case "mark":
        this.#marks.push({
          namespace: namespaceOf(line.namespace),
          checkpointId: this.#text(line, "checkpointId"),
          label: this.#text(line, "label"),
        });
        return;
      default:
        throw this.#fault(`kind ${JSON.stringify(line.kind)} is unknown`);
    }
  }

  async #begin(line: Line): Promise<void> {
    if (line.kind !== "thread" || line.format !== EXPORT_FORMAT)
      throw this.#fault("it is no header of an exported thread");
    if (line.version !== EXPORT_VERSION)
      throw this.#fault(
        `version ${JSON.stringify(line.version)} is unknown; a newer version may have written it`,
      );
    const threadId = this.#wantedId ?? storable("threadId", line.threadId);
    for await (const _ of this.#parts.driver.rows(threadId, ["head", "value", "write", "chunk"]))
      throw new ThreadExistsError({ threadId });
    this.#threadId = threadId;
    this.#isOurs = true;
  }

  #end(line: Line): void {
    const lines = this.#line - 1;
    if (line.lines !== lines)
      throw this.#fault(`the file has ${lines} lines before the end, ${line.lines} were written`);
    if (line.sha256 !== this.#hash.digest("hex")) throw this.#fault("the content is not what was written");
    this.#ended = true;
  }

  async finish(): Promise<void> {
    const { threadId } = this;
    const { codec, driver, marks } = this.#parts;
    if (!this.#ended) throw this.#fault("the file ends here without its last line");
    await this.#flush();
    for (const artifact of this.#artifacts) await driver.artifacts.put(threadId, artifact);
    for (const { namespace, checkpointId, parentId, text, writes } of this.#checkpoints.values()) {
      const address = { threadId, namespace, checkpointId };
      const rows = writes.map(({ text: value, ...row }) => ({
        ...row,
        data: codec.seal(value, place.write(address, row)),
      }));
      await this.#commit(namespace, {
        head: { checkpointId, parentId, data: codec.seal(text, place.head(address, parentId)) },
        writes: { checkpointId, rows },
      });
    }
    for (const mark of this.#marks) await marks.set({ threadId, ...mark }, mark.label);
  }

  /** Takes back what was stored of a file that turned out to be bad. */
  async discard(): Promise<void> {
    if (!this.#isOurs || this.#threadId === undefined) return;
    const { driver } = this.#parts;
    const threadId = this.#threadId;
    const state = await driver.thread(threadId);
    if (!state) return;
    const values: { namespace: string; channel: string; version: string }[] = [];
    const chunks: string[] = [];
    for await (const row of driver.rows(threadId, ["value", "chunk"])) {
      if (row.kind === "value") values.push(row);
      else if (row.kind === "chunk") chunks.push(row.hash);
    }
    const heads = [...this.#checkpoints.values()].map(({ namespace, checkpointId }) => ({
      threadId,
      namespace,
      checkpointId,
    }));
    await driver.sweep({ threadId, revision: state.revision, heads, values, chunks, rewritten: [] });
  }

  async #flush(): Promise<void> {
    if (this.#chunks.length > 0) await this.#commit("", { chunks: this.#chunks });
    this.#chunks = [];
    this.#chars = 0;
  }

  async #commit(namespace: string, rest: Partial<Batch>): Promise<void> {
    const { threadId } = this;
    await this.#parts.driver.commit({
      threadId,
      namespace,
      era: undefined,
      chunks: [],
      values: [],
      isSame: () => true,
      ...rest,
    });
  }

  #text(line: Line, field: string): string {
    const value = line[field];
    if (typeof value !== "string") throw this.#fault(`\`${field}\` is no text`);
    return storable(field, value);
  }

  #list(line: Line, field: string): readonly unknown[] {
    const value = line[field];
    if (!Array.isArray(value)) throw this.#fault(`\`${field}\` is no list`);
    return value;
  }

  #fault(reason: string, cause?: unknown): ImportError {
    return new ImportError({ line: this.#line, reason, cause });
  }
}
