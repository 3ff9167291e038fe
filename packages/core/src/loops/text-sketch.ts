import { createHash } from "node:crypto";

/** Shingles kept of one text; below that many the comparison is exact. */
const SIZE = 96;
/** Base64 characters of one shingle's hash: 24 bits. */
const CODE = 4;
/** Texts with fewer words say too little to be compared. */
const MIN_WORDS = 8;

/**
 * A sketch of a text for `similarity`: hashes of its three-word shingles (characters count as words in CJK), the smallest 96,
 * as one string of at most 384 characters. Tables, dividers and code are left out: they repeat by nature. `""` for a text
 * that says too little.
 */
export function sketchText(text: string): string {
  const words = wordsOf(prose(text));
  if (words.length < MIN_WORDS) return "";
  const codes = new Set<string>();
  for (let i = 0; i + 3 <= words.length; i++) {
    codes.add(
      createHash("md5")
        .update(words.slice(i, i + 3).join(" "))
        .digest("base64")
        .slice(0, CODE),
    );
  }
  return [...codes].sort().slice(0, SIZE).join("");
}

/** Jaccard similarity of two sketches, 0 to 1; estimated from the smallest hashes of both where texts are long. */
export function similarity(a: string, b: string): number {
  if (a === "" || b === "") return 0;
  const left = new Set(codesOf(a));
  const right = new Set(codesOf(b));
  const all = [...new Set([...left, ...right])].sort().slice(0, SIZE);
  return all.filter((code) => left.has(code) && right.has(code)).length / all.length;
}

/** Whether one text says a sentence of 20 characters or more ten times, and little else. */
export function isChant(text: string): boolean {
  const plain = prose(text);
  if (plain.length < 200) return false;
  const counts = new Map<string, number>();
  for (const sentence of plain.split(/(?<=[.!?。！？])\s*|\n+/)) {
    const normal = sentence.trim().toLowerCase();
    // a CJK character says as much as a short word
    if (normal.length >= (/[\u3040-\u9fff]/.test(normal) ? 6 : 20)) {
      counts.set(normal, (counts.get(normal) ?? 0) + 1);
    }
  }
  for (const [sentence, count] of counts) {
    if (count >= 10 && sentence.length * count * 2 >= plain.length) return true;
  }
  return false;
}

/** The text without code blocks, table rows, and lines that are only drawing. */
function prose(text: string): string {
  return text
    .slice(0, 20_000)
    .replace(/```[\s\S]*?(?:```|$)/g, "\n")
    .split("\n")
    .filter((line) => !/^\s*[|│┃║]/.test(line) && /[\p{L}\p{N}]/u.test(line))
    .join("\n");
}

function wordsOf(text: string): string[] {
  return (
    text.toLowerCase().match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{N}]+/gu) ?? []
  );
}

function codesOf(sketch: string): string[] {
  return Array.from({ length: sketch.length / CODE }, (_, i) => sketch.slice(i * CODE, (i + 1) * CODE));
}
