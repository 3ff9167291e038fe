const SCRIPTS = {
  Japanese: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu,
  Korean: /\p{Script=Hangul}/gu,
  Chinese: /\p{Script=Han}/gu,
  Cyrillic: /\p{Script=Cyrillic}/gu,
  Arabic: /\p{Script=Arabic}/gu,
  Hebrew: /\p{Script=Hebrew}/gu,
  Greek: /\p{Script=Greek}/gu,
  Thai: /\p{Script=Thai}/gu,
  Devanagari: /\p{Script=Devanagari}/gu,
} as const;

/** A script that tells the language of a text, or undefined for Latin script and texts that do not say. */
export type TellingScript = keyof typeof SCRIPTS;

/** The script in which most of a text is written, if it is one that tells. Japanese mixes Han with kana. */
export function tellingScript(text: string): TellingScript | undefined {
  const sample = text.slice(0, 4_000);
  const latin = sample.match(/\p{Script=Latin}+/gu)?.length ?? 0;
  const count = (script: TellingScript) => sample.match(SCRIPTS[script])?.length ?? 0;
  if (count("Japanese") > 2) return "Japanese";
  for (const script of Object.keys(SCRIPTS) as TellingScript[]) {
    // A word in Latin script weighs about as much as two or three characters of the others.
    if (count(script) > Math.max(3, latin)) return script;
  }
  return undefined;
}

/** Whether a text can be in the language that the script stands for: names and code in it are Latin anyway. */
export function speaks(text: string, script: TellingScript): boolean {
  const own = text.match(SCRIPTS[script])?.length ?? 0;
  const han = script === "Japanese" ? (text.match(SCRIPTS.Chinese)?.length ?? 0) : 0;
  return own + han >= 4 || (own + han > 0 && text.length < 20);
}
