import {
  type Artifact,
  type ArtifactMeta,
  type ArtifactStore,
  artifactRef,
  InvalidOptionsError,
} from "@longhaul/core";
import { storable } from "../address.ts";
import type { StorageDriver } from "../driver/driver.ts";
import { type Place, place } from "../encoding/place.ts";
import type { Sealer } from "../encoding/sealer.ts";
import { DamagedRecordError, RecordTooLargeError } from "../errors.ts";

/** Artifacts as sealed JSON strings, which keep lone surrogates. */
export class SealedArtifacts implements ArtifactStore {
  readonly #driver: Pick<StorageDriver, "artifacts" | "maxBlobBytes">;
  readonly #sealer: Sealer;

  constructor(driver: Pick<StorageDriver, "artifacts" | "maxBlobBytes">, sealer: Sealer) {
    this.#driver = driver;
    this.#sealer = sealer;
  }

  async put(thread: string, content: string, meta: ArtifactMeta, ref?: string): Promise<string> {
    storable("thread", thread);
    if (typeof content !== "string")
      throw new InvalidOptionsError({ option: "content", value: content, expected: "a text" });
    const name = storable("ref", ref ?? artifactRef(content));
    const chars = content.length;
    const row = {
      ref: name,
      chars,
      meta: this.#sealer.seal(JSON.stringify(meta), place.artifactMeta(thread, name, chars)),
      data: this.#sealer.seal(JSON.stringify(content), place.artifact(thread, name)),
    };
    const maxBytes = this.#driver.maxBlobBytes ?? Number.POSITIVE_INFINITY;
    if (row.data.length > maxBytes)
      throw new RecordTooLargeError({ record: `Artifact ${name}`, bytes: row.data.length, maxBytes });
    await this.#driver.artifacts.put(thread, row);
    return name;
  }

  async get(thread: string, ref: string): Promise<Artifact | undefined> {
    storable("thread", thread);
    storable("ref", ref);
    const row = await this.#driver.artifacts.get(thread, ref);
    if (!row) return undefined;
    const { chars, meta, data } = row;
    return {
      ref,
      content: this.#open<string>(data, place.artifact(thread, ref), thread, ref),
      meta: this.#open<ArtifactMeta>(meta, place.artifactMeta(thread, ref, chars), thread, ref),
    };
  }

  async *list(thread: string): AsyncIterable<{ ref: string; meta: ArtifactMeta; chars: number }> {
    storable("thread", thread);
    for await (const { ref, meta, chars } of this.#driver.artifacts.list(thread))
      yield {
        ref,
        meta: this.#open<ArtifactMeta>(meta, place.artifactMeta(thread, ref, chars), thread, ref),
        chars,
      };
  }

  #open<T>(data: Uint8Array, at: Place, threadId: string, ref: string): T {
    const damage = { threadId, record: `artifact ${ref}` };
    try {
      return JSON.parse(this.#sealer.unseal(data, at)) as T;
    } catch (cause) {
      if (DamagedRecordError.isInstance(cause)) throw cause.at(damage);
      if (!(cause instanceof SyntaxError)) throw cause;
      throw new DamagedRecordError({ reason: "its text is not JSON", place: damage, cause });
    }
  }
}
