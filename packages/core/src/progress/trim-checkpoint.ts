import type { ProgressCheckpoint, ProgressFact } from "./progress-state.ts";

/** Something that did not fit into the checkpoint. */
export interface CutItem {
  readonly field: "goal" | "facts" | "done" | "todo" | "open";
  readonly text: string;
}

/** Size of a checkpoint: characters of its JSON. */
export function checkpointSize({ goal, facts, done, todo, open }: ProgressCheckpoint): number {
  return JSON.stringify({ goal, facts, done, todo, open }).length;
}

/**
 * Cuts a checkpoint to a size. What comes next matters more than what is over: the goal, `todo` and `open` go in first,
 * then facts, then `done` from the newest back. An item longer than a quarter of the whole is shortened. Order within a
 * list is kept.
 */
export function trimCheckpoint(
  checkpoint: ProgressCheckpoint,
  maxCharacters: number,
): { readonly checkpoint: ProgressCheckpoint; readonly cut: readonly CutItem[] } {
  if (checkpointSize(checkpoint) <= maxCharacters) return { checkpoint, cut: [] };
  const cut: CutItem[] = [];
  const longest = Math.floor(maxCharacters / 4);
  const short = (field: CutItem["field"], text: string): string => {
    if (JSON.stringify(text).length <= longest) return text;
    cut.push({ field, text });
    return shorten(text, longest);
  };

  const kept = {
    goal: short("goal", checkpoint.goal),
    facts: [] as ProgressFact[],
    done: [] as string[],
    todo: [] as string[],
    open: [] as string[],
  };
  let left = maxCharacters - checkpointSize(kept);
  /** Takes items while they fit, in the order given; the rest is cut. */
  const fill = <T>(field: CutItem["field"], items: readonly T[], textOf: (item: T) => string): T[] => {
    const taken: T[] = [];
    for (const item of items) {
      const cost = JSON.stringify(item).length + 1;
      if (cost <= left) {
        left -= cost;
        taken.push(item);
      } else cut.push({ field, text: textOf(item) });
    }
    return taken;
  };

  const same = (text: string) => text;
  kept.todo = fill(
    "todo",
    checkpoint.todo.map((text) => short("todo", text)),
    same,
  );
  kept.open = fill(
    "open",
    checkpoint.open.map((text) => short("open", text)),
    same,
  );
  const facts = checkpoint.facts.map((fact) => ({ text: short("facts", fact.text), source: fact.source }));
  // the newest first: what was found last is the least likely to be known from elsewhere
  kept.facts = fill("facts", facts.toReversed(), (fact) => fact.text).reverse();
  const done = checkpoint.done.map((text) => short("done", text));
  kept.done = fill("done", done.toReversed(), same).reverse();
  return { checkpoint: kept, cut };
}

/** At most `limit` characters of JSON, ending in `…`, never inside a surrogate pair. */
function shorten(text: string, limit: number): string {
  let end = Math.min(text.length, limit - 3);
  while (JSON.stringify(text.slice(0, end)).length > limit - 1) end = Math.floor(end * 0.9);
  const head = text.slice(0, end);
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…`;
}
