type Fields = Readonly<Record<string, unknown>>;

/** Names of fields that say what a thing is, how it stands or what it costs. */
const TELLING =
  /(?:^|[_-])(?:id|key|code|ref|reference|no|number|sku|name|title|path|file|filename|url|uri|hash|sha|commit|version|price|amount|total|balance|cost|currency|quantity|count|status|state|result|email|phone|host|port|branch|ticket|order|account|date|time|created|updated|type|value|available|answer|conclusion|decision|summary|message|address|user|customer|product|region|city|origin|destination)s?$|(?:Id|ID|Key|Code|Ref|Number|Name|Title|Path|Url|URL|Hash|Version|Price|Amount|Total|Balance|Cost|Count|Status|State|Email|Date|At)$/i;

const MOST_RECORDS = 4;
const MOST_FIELDS = 6;
const LONGEST_VALUE = 120;

/**
 * The telling fields of a JSON result as `name=value` lines, one a record: the value itself, then records one and two levels
 * down. Values are exact; longer ones than 120 characters are left out (the index of identifiers has what is in them).
 */
export function recordFields(value: unknown): string[] {
  if (value === null || typeof value !== "object") return isPlain(value) ? [String(value)] : [];
  const lines: string[] = [];
  collect(value as Fields | readonly unknown[], "", 0, lines);
  return lines;
}

function collect(value: Fields | readonly unknown[], at: string, depth: number, lines: string[]): void {
  if (Array.isArray(value)) {
    const plain = value
      .filter(isPlain)
      .map(String)
      .filter((text) => text.length <= 60);
    if (plain.length > 0 && plain.length === value.length) {
      const line = plain.slice(0, 8).join(", ");
      lines.push(`${at ? `${at}=` : ""}${line}${plain.length > 8 ? ", …" : ""}`);
      return;
    }
    for (const item of value.slice(0, MOST_RECORDS)) {
      if (typeof item === "object" && item !== null) collect(item as Fields, at, depth, lines);
    }
    return;
  }
  const entries = Object.entries(value as Fields);
  const plain = entries.filter(([, inner]) => isPlain(inner) && String(inner).length <= LONGEST_VALUE);
  const telling = plain.filter(([name]) => TELLING.test(name));
  // A small record is told whole; of a large one the fields that name something.
  const shown = (plain.length <= 3 ? plain : telling).slice(0, MOST_FIELDS);
  if (shown.length > 0 && lines.length < MOST_RECORDS * 2) {
    lines.push(
      `${at ? `${at}: ` : ""}${shown.map(([name, inner]) => `${name}=${String(inner)}`).join(", ")}`,
    );
  }
  if (depth >= 2) return;
  for (const [name, inner] of entries) {
    if (lines.length >= MOST_RECORDS * 2) return;
    if (typeof inner === "object" && inner !== null) {
      collect(inner as Fields, at ? `${at} ${name}` : name, depth + 1, lines);
    }
  }
}

function isPlain(value: unknown): value is string | number | boolean {
  return (
    (typeof value === "string" && value !== "" && !value.includes("\n")) ||
    typeof value === "number" ||
    typeof value === "boolean"
  );
}
