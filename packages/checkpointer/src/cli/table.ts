export type Row = Readonly<Record<string, unknown>>;

/** Rows of one shape as aligned columns, cut to `width` display columns. */
export function tableOf(rows: readonly Row[], width: number): string[] {
  if (rows.length === 0) return [];
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) => names.map((name) => textOf(row[name])));
  const isNumeric = names.map((name) =>
    rows.every((row) => row[name] === undefined || typeof row[name] === "number"),
  );
  const widths = names.map((name, i) =>
    Math.max(columnsOf(name), ...cells.map((line) => columnsOf(line[i] ?? ""))),
  );
  const line = (parts: readonly string[]) => {
    const padded = parts.map((part, i) => {
      const gap = " ".repeat(Math.max(0, (widths[i] ?? 0) - columnsOf(part)));
      return isNumeric[i] ? gap + part : part + gap;
    });
    return cut(padded.join("  ").trimEnd(), width);
  };
  return [line(names), ...cells.map(line)];
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(Math.round(value * 100) / 100);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // one line, and nothing that moves the cursor
  return text.replace(/[\p{Cc}\p{Cf}]/gu, "·");
}

function cut(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  let result = "";
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > width - 1) break;
    result += character;
  }
  return `${result}…`;
}

/** Wide characters take two columns, marks none. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (/\p{M}/u.test(character)) continue;
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return columns;
}
