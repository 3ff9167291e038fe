import type { StorageDriver } from "../driver/driver.ts";
import { type Chunk, chunksToStore } from "../encoding/chunk.ts";
import { type AnyClass, ClassTable } from "../encoding/classes.ts";
import { Decoder, type Fetched } from "../encoding/decoder.ts";
import { Encoder, Moment } from "../encoding/encoder.ts";
import { materialise } from "../encoding/materialise.ts";
import { type Form, formOf } from "../encoding/node.ts";
import { type Place, place } from "../encoding/place.ts";
import { parseLists, parseTokens, type Token } from "../encoding/references.ts";
import { rawSizeOf, type Sealer } from "../encoding/sealer.ts";
import { DamagedRecordError, type RecordPlace } from "../errors.ts";
import { HeadCodec } from "./head.ts";
import { ThreadCache } from "./thread-cache.ts";

/** A stored value: its bytes, where they are sealed, and how an error names it. */
export interface Source {
  readonly data: Uint8Array;
  readonly at: Place;
  readonly place: RecordPlace;
}

/** Values to stored bytes and back, with what is remembered of both. One for each saver. */
export class Codec {
  readonly heads: HeadCodec;
  readonly threads = new ThreadCache();
  readonly #classes: ClassTable;
  readonly #encoder: Encoder;
  readonly #decoder: Decoder;
  readonly #sealer: Sealer;

  constructor(sealer: Sealer, reviveClasses: Readonly<Record<string, AnyClass>>) {
    this.#classes = new ClassTable(reviveClasses);
    this.#encoder = new Encoder(this.#classes);
    this.#decoder = new Decoder();
    this.#sealer = sealer;
    this.heads = new HeadCodec(this.#classes);
  }

  /** Snapshots of values, each with the name of its root in errors. @throws UnstorableValueError */
  encode(values: readonly (readonly [path: string, value: unknown])[]): Form[] {
    const moment = new Moment();
    return values.map(([path, value]) => formOf(this.#encoder.encode(value, path, moment)));
  }

  seal(text: string, at: Place): Uint8Array {
    return this.#sealer.seal(text, at);
  }

  /** @throws DamagedRecordError with the reason, for the caller to add the place; EncryptionError. */
  unseal(data: Uint8Array, at: Place): string {
    return this.#sealer.unseal(data, at);
  }

  /** What the storage does not have yet of what `forms` refer to. */
  newChunks(
    threadId: string,
    forms: readonly Form[],
    known: ReadonlySet<string>,
  ): { hash: string; data: Uint8Array }[] {
    const roots = forms.flatMap((form) => form.chunks);
    return chunksToStore(roots, known).map(({ hash, text }: Chunk) => ({
      hash,
      data: this.seal(text, place.chunk(threadId, hash)),
    }));
  }

  /** Live values of stored bytes, all of one thread. Damage is reported with the place of the value it was found in. */
  async decode(driver: StorageDriver, threadId: string, sources: readonly Source[]): Promise<unknown[]> {
    const texts = sources.map(({ data, at, place }) => within(place, () => this.unseal(data, at)));
    const fetch = (hashes: readonly string[]) => this.#fetch(driver, threadId, hashes);
    try {
      const read = await this.#decoder.decode(texts, fetch);
      return read.map((text, i) =>
        within(sources[i]?.place ?? {}, () => materialise(text, this.#classes, this.#encoder)),
      );
    } catch (error) {
      if (sources.length < 2 || !DamagedRecordError.isInstance(error)) {
        throw DamagedRecordError.isInstance(error) ? error.at(sources[0]?.place ?? {}) : error;
      }
    }
    // one of them is damaged: read singly, to name it
    const values: unknown[] = [];
    for (const source of sources) values.push(...(await this.decode(driver, threadId, [source])));
    return values;
  }

  async #fetch(
    driver: StorageDriver,
    threadId: string,
    hashes: readonly string[],
  ): Promise<Map<string, Fetched>> {
    const found = [...(await driver.chunks(threadId, hashes))];
    const fetched = new Map<string, Fetched>();
    const add = (i: number, tokens: readonly Token[]) => {
      const [hash, data] = found[i] as [string, Uint8Array];
      fetched.set(hash, { tokens, text: this.#reader(threadId, hash, data), chars: rawSizeOf(data) });
    };
    try {
      const sealed = found.map(([hash, data]) => [data, place.chunk(threadId, hash)] as const);
      for (const { indexes, json } of this.#sealer.unsealAll(sealed)) {
        const lists = parseLists(json);
        // a text with a bracket of its own would be two
        if (lists.length !== indexes.length) throw new DamagedRecordError({ reason: "a text is no list" });
        for (const [n, i] of indexes.entries()) add(i, lists[n] as readonly Token[]);
      }
    } catch (error) {
      if (!DamagedRecordError.isInstance(error)) throw error;
      // one of them is damaged: opened singly, to name it
      for (const [i, [hash, data]] of found.entries()) add(i, parseTokens(this.#chunk(threadId, hash, data)));
    }
    return fetched;
  }

  /** Made here, since a function keeps alive all that the functions beside it use. */
  #reader(threadId: string, hash: string, data: Uint8Array): () => string {
    return () => this.#chunk(threadId, hash, data);
  }

  #chunk(threadId: string, hash: string, data: Uint8Array): string {
    try {
      return this.unseal(data, place.chunk(threadId, hash));
    } catch (error) {
      if (!DamagedRecordError.isInstance(error)) throw error;
      throw new DamagedRecordError({ reason: `chunk ${hash}: ${error.reason}`, cause: error });
    }
  }

  /** The thread was deleted: nothing that was read of it may be trusted to be there. */
  forget(threadId: string): void {
    this.threads.forget(threadId);
  }
}

/** Runs `read`; damage gets its place. */
export function within<T>(place: RecordPlace, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw DamagedRecordError.isInstance(error) ? error.at(place) : error;
  }
}
