import {
  checkOptionKeys,
  type Deps,
  type EventSink,
  InvalidOptionsError,
  type OptionKeys,
  withSystemDeps,
} from "@longhaul/core";
import type { Compression } from "./encoding/envelope.ts";

export interface CompactSaverOptions {
  /**
   * Whether texts are packed. Both kinds stay readable whatever is set later. "none" costs two to three times the space and saves about
   * 20 µs for each new text.
   * @default "deflate"
   */
  readonly compression?: Compression | undefined;
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
  /** Receives `checkpoint.forked`. @default none */
  readonly events?: EventSink | undefined;
  /** Clock, random and ids, for tests. @default the system's */
  readonly deps?: Partial<Deps> | undefined;
}

export interface ResolvedSaverOptions {
  readonly compression: Compression;
  readonly busyWaitMs: number;
  readonly reviveClasses: Readonly<Record<string, new (...args: never[]) => unknown>>;
  readonly events: EventSink | undefined;
  readonly deps: Deps;
}

const KEYS: OptionKeys<CompactSaverOptions> = {
  compression: true,
  busyWaitMs: true,
  reviveClasses: true,
  events: true,
  deps: true,
};

/** @throws InvalidOptionsError at once for a value that cannot work, and for an unknown key: a saver must not ignore what it was asked. */
export function resolveSaverOptions(options: CompactSaverOptions = {}): ResolvedSaverOptions {
  checkOptionKeys("options", options, KEYS);
  const { compression = "deflate", busyWaitMs = 10_000, reviveClasses = {}, events } = options;
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
  return { compression, busyWaitMs, reviveClasses, events, deps: withSystemDeps(options.deps) };
}
