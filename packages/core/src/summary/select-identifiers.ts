import { containsWhole } from "./check-identifier.ts";
import type { IdentifierKind } from "./identifiers.ts";
import type { IndexEntry, SourceIdentifier } from "./source-text.ts";

const RANK: Readonly<Record<IndexEntry["from"], number>> = { human: 3, effect: 2, args: 1, result: 1 };
/** Names of things before measures before words. */
const WEIGHT: Readonly<Record<IdentifierKind, number>> = {
  uuid: 3,
  hash: 3,
  path: 3,
  url: 3,
  host: 3,
  email: 3,
  id: 3,
  field: 2,
  money: 2,
  quantity: 2,
  version: 2,
  date: 1,
  name: 1,
  quoted: 1,
};
/** What ends a value in a rendered summary. */
const BORDER = /[\s,;=:"'()[\]]+/;
/** Of one result or one call: a listing must not push everything else out of the index. */
const MOST_OF_ONE_SOURCE = 25;

/**
 * The identifiers that a summary and the index lack, at most `max`: first the user's, then those of effects, then the newest;
 * in the order in which they appeared. Deterministic.
 */
export function selectIdentifiers(
  found: readonly SourceIdentifier[],
  summaryText: string,
  indexed: readonly string[],
  max: number,
): { readonly entries: readonly IndexEntry[]; readonly left: number } {
  const known = new Set(indexed);
  // Most are found or ruled out by one look; only those that hold a border themselves need a search.
  const tokens = new Set(summaryText.split(BORDER));
  const said = (text: string) => tokens.has(text) || (BORDER.test(text) && containsWhole(summaryText, text));
  const best = new Map<string, { identifier: SourceIdentifier; at: number }>();
  found.forEach((identifier, at) => {
    const { text } = identifier;
    const earlier = best.get(text);
    if (earlier) {
      // Newest place, but the rank of its best source: what the user named stays the user's.
      const from =
        RANK[identifier.from] >= RANK[earlier.identifier.from] ? identifier.from : earlier.identifier.from;
      best.set(text, { identifier: { ...identifier, from }, at });
    } else if (!known.has(text) && !said(text)) best.set(text, { identifier, at });
  });
  const ranked = [...best.values()].sort(
    (a, b) =>
      RANK[b.identifier.from] - RANK[a.identifier.from] ||
      WEIGHT[b.identifier.kind] - WEIGHT[a.identifier.kind] ||
      b.at - a.at,
  );
  const perSource = new Map<string, number>();
  const chosen = ranked
    .filter(({ identifier: { source, from } }) => {
      const count = perSource.get(source) ?? 0;
      perSource.set(source, count + 1);
      return from === "human" || from === "effect" || count < MOST_OF_ONE_SOURCE;
    })
    .slice(0, max);
  return {
    entries: chosen
      .sort((a, b) => a.at - b.at)
      .map(({ identifier: { text, step, from } }) => ({ text, step, from })),
    left: best.size - chosen.length,
  };
}

/**
 * The index after these were seen again: they count as new, so that what is still in use outlives in the view what was named
 * once. The others keep their order. Deterministic.
 */
export function refreshIdentifiers(
  index: readonly IndexEntry[],
  found: readonly SourceIdentifier[],
): readonly IndexEntry[] {
  const seen = new Map<string, IndexEntry>();
  for (const { text, step, from } of found) {
    const earlier = seen.get(text);
    seen.set(text, { text, step, from: earlier && RANK[earlier.from] > RANK[from] ? earlier.from : from });
  }
  const rest = index.filter(({ text }) => !seen.has(text));
  if (rest.length === index.length) return index;
  const again = index.flatMap((entry) => {
    const latest = seen.get(entry.text);
    if (!latest) return [];
    return [{ ...latest, from: RANK[entry.from] > RANK[latest.from] ? entry.from : latest.from }];
  });
  return [...rest, ...again.sort((a, b) => a.step - b.step)];
}
