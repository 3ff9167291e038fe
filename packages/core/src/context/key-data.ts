import { InvalidOptionsError, StateFormatError } from "../errors.ts";
import type { Json } from "../json/json.ts";

/** Channel `_longhaulData`: entries by key; the last write of a key wins. */
export interface KeyData {
  readonly v: 1;
  readonly entries: Readonly<Record<string, { readonly value: Json; readonly source?: string }>>;
}

/**
 * Reads the channel as it came from a checkpoint.
 * @throws StateFormatError when it is there and not readable
 */
export function readKeyData(value: unknown): KeyData {
  if (value === undefined || value === null) return { v: 1, entries: {} };
  const found = value as Partial<KeyData>;
  if (typeof value !== "object" || found.v !== 1 || typeof found.entries !== "object" || !found.entries)
    throw new StateFormatError({ channel: "_longhaulData", found: value, expected: "version 1" });
  return value as KeyData;
}

/** Longest value, in characters of its JSON: the channel is for keys to data, not for data. */
const LONGEST = 4_000;

interface TaskConfig {
  readonly configurable?: { readonly __pregel_send?: (writes: [string, unknown][]) => void };
}

/**
 * Puts a value that later steps need into the state, from a tool's body: a path, a record id, a field of a result. It stands in the
 * memory block from the next fold or reset on, word for word, and survives both. The last value of a key wins.
 *
 * Written together with the tool's result: a crash before that loses both, and the tool, run again, keeps it again. A stored result that is
 * replayed without running the tool keeps nothing new.
 *
 * @param config the second argument of the tool's body
 * @param value plain JSON, at most 4,000 characters
 * @param source where it came from, for the model. Default none.
 * @throws InvalidOptionsError outside a graph, or for a value that is no JSON or too long
 */
export function keepData(config: unknown, key: string, value: Json, source?: string): void {
  const send = (config as TaskConfig | undefined)?.configurable?.__pregel_send;
  if (typeof send !== "function")
    throw new InvalidOptionsError({
      option: "config",
      value: config,
      expected: "the config that LangGraph passes to a tool's body",
    });
  const json = JSON.stringify(value) as string | undefined;
  if (key.trim() === "" || json === undefined || json.length > LONGEST)
    throw new InvalidOptionsError({
      option: key.trim() === "" ? "key" : "value",
      value: key.trim() === "" ? key : value,
      expected: `a key and plain JSON of at most ${LONGEST} characters`,
    });
  const entry = { value: JSON.parse(json) as Json, ...(source === undefined ? {} : { source }) };
  const update: KeyData = { v: 1, entries: { [key]: entry } };
  send([["_longhaulData", update]]);
}
