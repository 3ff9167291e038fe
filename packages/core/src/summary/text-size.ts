/** Scripts without spaces between words, counted by character. Hangul has spaces, but its words carry as much as CJK. */
const CJK_CHAR = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;
const LONG_TOKEN = 24;

/**
 * Length of a text in words; a CJK character is one, and a token longer than 24 characters is one for every 24 of them, so
 * that a limit in words is a limit in bytes too.
 */
export function countWords(text: string): number {
  const cjk = text.match(CJK_CHAR)?.length ?? 0;
  const rest = cjk > 0 ? text.replace(CJK_CHAR, " ") : text;
  let words = cjk;
  for (const token of rest.split(/\s+/)) if (token) words += Math.ceil(token.length / LONG_TOKEN);
  return words;
}

/** The beginning of a text, at most `maxWords` long, ended at a sentence where one ends in the last third, else with `…`. */
export function cutWords(text: string, maxWords: number): string {
  if (countWords(text) <= maxWords) return text;
  if (maxWords <= 0) return "";
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (countWords(text.slice(0, middle)) < maxWords) low = middle;
    else high = middle - 1;
  }
  const cut = text.slice(0, low).toWellFormed();
  const sentence = Math.max(...[". ", "! ", "? ", "。", "！", "？"].map((end) => cut.lastIndexOf(end)));
  if (sentence >= (cut.length * 2) / 3) return cut.slice(0, sentence + 1);
  const space = cut.lastIndexOf(" ");
  return `${space >= (cut.length * 2) / 3 ? cut.slice(0, space) : cut}…`;
}

/** The beginning of a text in characters, one line, never half a surrogate pair. */
export function cutLine(text: string, maxChars: number): string {
  const line = text
    .slice(0, maxChars * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= maxChars && text.length <= maxChars * 4) return line;
  let end = Math.min(line.length, maxChars - 1);
  const last = line.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end--;
  return `${line.slice(0, end)}…`;
}

/**
 * Tokens of a text, never too few: what decides whether a request fits its model. ASCII counts a third of a token a
 * character, everything else 1.2 (emoji and rare scripts cost that much).
 */
export function tokensAtMost(text: string): number {
  let ascii = 0;
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 128) ascii++;
  return Math.ceil(ascii / 3 + (text.length - ascii) * 1.2);
}
