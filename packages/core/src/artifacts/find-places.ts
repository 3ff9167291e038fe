/** Places that one search names. */
export const MOST_HITS = 12;
/** Characters shown around a place. */
export const AROUND = 140;

/** Places of a phrase, or else the lines that hold all its words. */
export function findPlaces(text: string, search: string): number[] {
  const lower = text.toLowerCase();
  const phrase = search.toLowerCase();
  // A few characters change their length in lower case; then positions in `lower` are not positions in `text`.
  if (lower.length !== text.length) return placesByLine(text, phrase.split(/\s+/));
  const found: number[] = [];
  for (
    let at = lower.indexOf(phrase);
    at >= 0 && found.length < MOST_HITS;
    at = lower.indexOf(phrase, at + Math.max(AROUND, phrase.length))
  ) {
    found.push(at);
  }
  return found.length > 0 ? found : placesByLine(text, phrase.split(/\s+/));
}

function placesByLine(text: string, words: readonly string[]): number[] {
  const found: number[] = [];
  for (let from = 0; from <= text.length && found.length < MOST_HITS; ) {
    const newline = text.indexOf("\n", from);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(from, end).toLowerCase();
    if (words.every((word) => line.includes(word)))
      found.push(from + Math.max(0, line.indexOf(words[0] as string)));
    from = end + 1;
  }
  return found;
}

export function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - AROUND / 2);
  const to = Math.min(text.length, at + AROUND);
  return `${from > 0 ? "…" : ""}${text.slice(from, to).replace(/\s+/g, " ")}${to < text.length ? "…" : ""}`.toWellFormed();
}

export function hitsIn(
  text: string,
  search: string,
  read: (offset: number) => string,
  label: string,
  max: number,
): string {
  const found = findPlaces(text, search);
  if (found.length === 0) return `"${search.slice(0, 100)}" does not occur in ${label.slice(0, 200)}.`;
  const lines = found.map((at) => `- ${excerpt(text, at)}\n  ${read(Math.max(0, at - AROUND / 2))}`);
  return fitLines(`"${search.slice(0, 100)}" in ${label.slice(0, 200)}:`, lines, max);
}

/** Whole lines as long as there is room, with the count of those left out. */
export function fitLines(head: string, lines: readonly string[], max: number): string {
  let text = head;
  for (const [i, line] of lines.entries()) {
    if (text.length + line.length + 60 > max)
      return `${text}\n(${lines.length - i} more; search for something narrower)`;
    text += `\n${line}`;
  }
  return text;
}
