import {
  checkOptionKeys,
  type Deps,
  type EventSink,
  InvalidOptionsError,
  type OptionKeys,
  withSystemDeps,
} from "@longhaul/core";
import { checkRetention, type Retention } from "./checkpoint/retention.ts";
import { checkMigrations, type StateMigrations } from "./checkpoint/state-migrations.ts";
import type { Compression } from "./encoding/codecs.ts";
import type { SealerOptions } from "./encoding/sealer.ts";
import { EncryptionError } from "./errors.ts";

export interface CompactSaverOptions {
  /**
   * Whether texts are packed. Both kinds stay readable whatever is set later. "none" costs two to three times the space and saves about
   * 20 µs for each new text.
   * @default "deflate"
   */
  readonly compression?: Compression | undefined;
  /**
   * Encrypts everything that is stored, with AES-256-GCM, bound to its place: 32 bytes, or a function from a key's id to its 32 bytes, which
   * must know the ids of all keys still in use. Ids, namespaces, channel names and sizes stay readable. Cost: about 5 µs and 40 bytes for each
   * row. Without the key the data is lost.
   * @default none
   */
  readonly encryptionKey?: Uint8Array | ((keyId: string) => Uint8Array) | undefined;
  /** Id of the key that encrypts new rows, stored beside them; 1 to 255 bytes. @default "1" */
  readonly encryptionKeyId?: string | undefined;
  /**
   * Whether rows of the time before the key may be read. Without, they are refused: whoever can write to the storage could otherwise put
   * plain rows in place of encrypted ones.
   * @default false
   */
  readonly acceptPlaintext?: boolean | undefined;
  /**
   * How long a call waits for a lock of another process, in milliseconds, at least 0. The event loop runs on meanwhile. Afterwards the
   * call fails with a retryable `StorageBusyError`.
   * @default 10_000
   */
  readonly busyWaitMs?: number | undefined;
  /**
   * Classes of your own that may stand in the state, by the name under which they are stored. Their own enumerable fields are kept; they come
   * back with their prototype, without a constructor call. Cost: names are part of your stored data, do not rename them.
   * @default {}
   */
  readonly reviveClasses?: Readonly<Record<string, new (...args: never[]) => unknown>> | undefined;
  /** Of the connections to Postgres, where the target is one. @default 10 connections, 10 s to connect, 30 s for a statement */
  readonly postgres?: PostgresPoolOptions | undefined;
  /** Of the connection to Redis, where the target is one. @default keys under "longhaul:", 10 s to connect, 30 s for a command */
  readonly redis?: RedisOptions | undefined;
  /**
   * Which checkpoints are kept. Pruning happens when the status of a run changes (channel `_longhaulRun`) and by `prune`, never by a timer.
   * @default "all"
   */
  readonly retention?: Retention | undefined;
  /**
   * How state of older versions of your graph becomes state of today's, in memory, when it is read; stored rows stay. Checkpoints and pending
   * writes are stamped with the version of the last one. State of a newer version, or too old for the list, is refused with
   * `StateVersionError` before any node runs. Cost: reading older state compares it before and after.
   * @default [] (version 0, no stamp)
   */
  readonly migrations?: StateMigrations | undefined;
  /** Receives `checkpoint.forked`, `checkpoint.pruned`, `checkpoint.prune_failed` and `storage.volatile`. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, random and ids, for tests. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
}

export interface PostgresPoolOptions {
  /** Connections at most, at least 1. @default 10 */
  readonly max?: number | undefined;
  /** Milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number | undefined;
  /** Milliseconds after which the server ends a statement. @default 30_000 */
  readonly statementTimeoutMs?: number | undefined;
}

export interface RedisOptions {
  /** Before every key. @default "longhaul" */
  readonly keyPrefix?: string | undefined;
  /** Milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number | undefined;
  /** Milliseconds after which a server that does not answer is taken for gone. @default 30_000 */
  readonly commandTimeoutMs?: number | undefined;
}

export interface ResolvedSaverOptions {
  readonly redis: RedisOptions;
  readonly postgres: PostgresPoolOptions;
  readonly sealer: SealerOptions;
  readonly busyWaitMs: number;
  readonly reviveClasses: Readonly<Record<string, new (...args: never[]) => unknown>>;
  readonly retention: Retention;
  readonly migrations: StateMigrations;
  readonly events: EventSink | undefined;
  readonly deps: Deps;
}

const KEYS: OptionKeys<CompactSaverOptions> = {
  compression: true,
  encryptionKey: true,
  encryptionKeyId: true,
  acceptPlaintext: true,
  busyWaitMs: true,
  reviveClasses: true,
  postgres: true,
  redis: true,
  retention: true,
  migrations: true,
  events: true,
  deps: true,
};

/** @throws InvalidOptionsError at once for a value that cannot work, and for an unknown key: a saver must not ignore what it was asked. */
export function resolveSaverOptions(options: CompactSaverOptions = {}): ResolvedSaverOptions {
  checkOptionKeys("options", options, KEYS);
  const {
    compression = "deflate",
    busyWaitMs = 10_000,
    reviveClasses = {},
    retention = "all",
    migrations = [],
    postgres = {},
    redis = {},
    events,
  } = options;
  if (compression !== "deflate" && compression !== "none") {
    throw new InvalidOptionsError({
      option: "compression",
      value: compression,
      expected: '"deflate" or "none"',
    });
  }
  if (!Number.isFinite(busyWaitMs) || busyWaitMs < 0) {
    throw new InvalidOptionsError({
      option: "busyWaitMs",
      value: busyWaitMs,
      expected: "a number of milliseconds, at least 0",
    });
  }
  for (const [name, value] of Object.entries(reviveClasses ?? {})) {
    if (typeof value !== "function") {
      throw new InvalidOptionsError({ option: `reviveClasses.${name}`, value, expected: "a class" });
    }
  }
  checkRetention("retention", retention);
  checkCounts("postgres", postgres, ["max", "connectTimeoutMs", "statementTimeoutMs"]);
  const { keyPrefix = "longhaul", ...redisTimes } = redis;
  if (typeof keyPrefix !== "string" || keyPrefix === "")
    throw new InvalidOptionsError({
      option: "redis.keyPrefix",
      value: keyPrefix,
      expected: "a text that is not empty",
    });
  checkCounts("redis", redisTimes, ["connectTimeoutMs", "commandTimeoutMs"]);
  const sealer = { compression, encryption: encryptionOf(options) };
  return {
    sealer,
    busyWaitMs,
    reviveClasses,
    retention,
    migrations: migrations === "as-stored" ? migrations : checkMigrations(migrations),
    postgres,
    redis,
    events,
    deps: withSystemDeps(options.deps),
  };
}

/** @throws InvalidOptionsError unless each is a whole number above 0 */
function checkCounts(option: string, given: object, names: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    const isKnown = names.includes(name);
    if (isKnown && (value === undefined || (Number.isSafeInteger(value) && value >= 1))) continue;
    const expected = isKnown ? "a whole number, at least 1" : `one of ${names.join(", ")}`;
    throw new InvalidOptionsError({ option: `${option}.${name}`, value, expected });
  }
}

const ID_BYTES = 255;

function encryptionOf({
  encryptionKey: key,
  encryptionKeyId: keyId = "1",
  acceptPlaintext = false,
}: CompactSaverOptions): SealerOptions["encryption"] {
  const invalid = (option: string, value: unknown, expected: string) =>
    new InvalidOptionsError({ option, value, expected });
  const bytes = typeof keyId === "string" ? Buffer.byteLength(keyId) : 0;
  if (bytes === 0 || bytes > ID_BYTES)
    throw invalid("encryptionKeyId", keyId, `a text of 1 to ${ID_BYTES} bytes`);
  if (typeof acceptPlaintext !== "boolean")
    throw invalid("acceptPlaintext", acceptPlaintext, "true or false");
  if (key === undefined) return undefined;
  if (typeof key !== "function" && !(key instanceof Uint8Array && key.length === 32))
    throw invalid(
      "encryptionKey",
      "(hidden)",
      "a Uint8Array of 32 bytes, or a function that gives one for a key id",
    );
  if (typeof key !== "function")
    return { keyId, keyOf: (id) => (id === keyId ? key : undefined), acceptPlaintext };
  const keyOf = (id: string) => {
    try {
      return key(id);
    } catch (cause) {
      throw new EncryptionError({ reason: "unknown-key", keyId: id, cause });
    }
  };
  return { keyId, keyOf, acceptPlaintext };
}
