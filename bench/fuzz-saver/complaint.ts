import { DamagedRecordError, UnreadableTargetError } from "@longhaul/checkpointer";

/** What an error must say about the place of the damage. */
export interface Wanted {
  readonly checkpoint: boolean;
  readonly channel: boolean;
  /** The file must be named where the thread is not: below the level of rows it may be unknown. */
  readonly target?: string;
}

/** @returns what is wrong with the error, if anything is */
export function complaintAbout(error: unknown, { checkpoint, channel, target }: Wanted): string | undefined {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (UnreadableTargetError.isInstance(error)) return target === undefined ? `no damage: ${text}` : undefined;
  if (!DamagedRecordError.isInstance(error)) return `untyped error ${text.slice(0, 300)}`;
  const { place } = error;
  if (target !== undefined && place.threadId === undefined && !text.includes(target))
    return `names neither file nor thread: ${text.slice(0, 300)}`;
  if (target !== undefined) return undefined;
  if (place.threadId === undefined) return `no thread in ${text}`;
  if (checkpoint && place.checkpointId === undefined) return `no checkpoint in ${text}`;
  if (channel && place.channel === undefined) return `no channel in ${text}`;
  if (place.checkpointId === undefined && place.record === undefined) return `no record in ${text}`;
  return undefined;
}
