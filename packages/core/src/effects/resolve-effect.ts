import type { Json } from "../json/json.ts";
import type { LonghaulStorage } from "../storage/longhaul-storage.ts";
import { EffectStateError } from "./effect-errors.ts";

/**
 * Settles an effect whose outcome is unknown, by the key that the events and the model's result name.
 *
 * `"done"`: it happened; equal calls that ask for it get `result`. `"absent"`: it did not; the next equal call runs. Calling it
 * again with the same answer changes nothing. The run goes on by itself at the next equal call.
 *
 * @param result what the tool would have returned, as JSON. Default: none, and the replay says only that it was done.
 * @throws EffectStateError when there is no such open effect, it is running, or it was settled the other way
 */
export async function resolveEffect(
  storage: Pick<LonghaulStorage, "effects">,
  key: string,
  outcome: "done" | "absent",
  result?: Json,
): Promise<void> {
  const thread = await storage.effects.threadOf(key);
  if (thread === undefined) throw new EffectStateError({ key, state: "not open", expected: "unknown" });
  await storage.effects.resolve(thread, key, outcome, { value: result });
}
