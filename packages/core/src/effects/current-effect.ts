import { AsyncLocalStorage } from "node:async_hooks";
import type { Json } from "../json/json.ts";
import { NoCurrentEffectError } from "./effect-errors.ts";

/** What a guarded tool knows about its own run. */
export interface CurrentEffect {
  /** The idempotency key: pass it on to a server that de-duplicates. The same for every try of this intent. */
  readonly key: string;
  /** Which try this is, from 1. A run that goes on after asking a human is the same try. */
  readonly attempt: number;
  /** What `saveProgress` saved last, before a crash too; undefined at the beginning. */
  readonly progress: Json | undefined;
  /** Saves the tool's own cursor. Survives a crash of the process once it resolves; one durable write. */
  saveProgress(progress: Json): Promise<void>;
}

interface Frame {
  readonly tool: string;
  readonly callId: string | undefined;
  readonly effect: CurrentEffect;
}

/** One for all copies of this package in a process: a tool may import the other one. */
const SLOT = Symbol.for("@longhaul/current-effect");
const shared = globalThis as { [SLOT]?: AsyncLocalStorage<Frame> };
shared[SLOT] ??= new AsyncLocalStorage<Frame>();
const frames = shared[SLOT];

/**
 * The effect of the tool that is running; call it in the tool's body.
 *
 * @param config the second argument of the tool's function. With it, a tool that is not guarded itself but was called by a
 * guarded one gets the error instead of the other's key.
 * @throws NoCurrentEffectError outside a guarded tool
 */
export function currentEffect(config?: {
  readonly toolCall?: { readonly id?: string | undefined } | undefined;
}): CurrentEffect {
  const frame = frames.getStore();
  const id = config?.toolCall?.id;
  if (!frame || (id !== undefined && frame.callId !== undefined && id !== frame.callId))
    throw new NoCurrentEffectError();
  return frame.effect;
}

/** The effect around this call, of an agent that a tool runs; undefined at the top. */
export function enclosingEffect(): CurrentEffect | undefined {
  return frames.getStore()?.effect;
}

export function withCurrentEffect<T>(frame: Frame, work: () => Promise<T>): Promise<T> {
  return frames.run(frame, work);
}
