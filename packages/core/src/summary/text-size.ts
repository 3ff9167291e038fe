/** Scripts without spaces between words, counted by character. Hangul has spaces, but its words carry as much as CJK. */
const CJK_CHAR = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;
const LONG_TOKEN = 24;

/**
 * Length of a text in words; a CJK character is one, and a token longer than 24 characters is one for every 24 of them, so
 * that a limit in words is a limit in bytes too.
 */
export function countWords(text: string): number {
  let words = 0;
  let rest = text;
  if (/[^ -~\s]/.test(text)) {
    words = text.match(CJK_CHAR)?.length ?? 0;
    if (words > 0) rest = text.replace(CJK_CHAR, " ");
  }
  for (const token of rest.split(/\s+/)) if (token) words += Math.ceil(token.length / LONG_TOKEN);
  return words;
}

/**
 * The beginning of a text, at most `maxWords` long, ended at a sentence where one ends in the last third, else with `…`. Never
 * ends inside a word: half an identifier would be a wrong one.
 */
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
  const cut = text.slice(0, low);
  const sentence = Math.max(...[". ", "! ", "? ", "。", "！", "？"].map((end) => cut.lastIndexOf(end)));
  if (sentence >= (cut.length * 2) / 3) return cut.slice(0, sentence + 1);
  return `${text.slice(0, wordEnd(text, low))}…`;
}

/** The beginning of a text in characters, one line; never ends inside a word. */
export function cutLine(text: string, maxChars: number): string {
  const line = text
    .slice(0, maxChars * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (line.length <= maxChars && text.length <= maxChars * 4) return line;
  return `${line.slice(0, wordEnd(line, Math.min(line.length, maxChars - 1)))}…`;
}

/** The last place at or before `at` where no word or identifier is torn; `at` itself when there is none near. */
function wordEnd(text: string, at: number): number {
  for (let end = at; end > 0 && at - end < 100; end--) {
    if (!inside(text, end)) return end;
  }
  const last = text.charCodeAt(at - 1);
  return last >= 0xd800 && last <= 0xdbff ? at - 1 : at;
}

/** What holds an identifier together: CJK stands beside one without space and is a border. */
const JOINS = /[\p{L}\p{N}_./\\@#:%=+&~$-]/u;
const BORDER = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

function inside(text: string, at: number): boolean {
  const before = text[at - 1] ?? " ";
  const after = text[at] ?? " ";
  if (BORDER.test(before) || BORDER.test(after)) return false;
  if (/[\ud800-\udfff]/.test(before + after)) return true;
  return JOINS.test(before) && JOINS.test(after);
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
