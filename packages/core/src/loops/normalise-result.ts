/** Longer results are compared by head, tail and lines between. */
const WHOLE = 4_000;
const PART = 1_200;
const MIDDLE_LINES = 20;
const LINE = 80;

/** Time of day with seconds, date with time, milliseconds since 1970, duration, memory address. */
const VOLATILE =
  /\b(?=\d)(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b|1[5-9]\d{11}\b|\d+(?:\.\d+)?\s?(?:[mµun]?s|secs?|seconds?|mins?|minutes?|hrs?|hours?)\b|0x[0-9a-f]{4,}\b)/gi;

/** In errors also: line and column numbers, UUIDs and long hex (request ids). */
const VOLATILE_IN_ERRORS =
  /\b(?:lines?|ln|rows?|col(?:umn)?s?|pos(?:ition)?|offset|char(?:acter)?)\s*[:#=]?\s*\d+(?:\s*[-–:,]\s*\d+)?|(?<=[\w)]):\d+(?::\d+)?\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b/gi;

/**
 * Masks in a result what changes from call to call without meaning anything: times with seconds, durations, addresses;
 * in an error also line numbers, UUIDs and long hexadecimal ids. White space is collapsed. Percentages, counts, dates
 * and identifiers stay: they are what changes when work goes on. Of a result above 4,000 characters, head, tail and 20
 * lines between are compared. Linear.
 */
export function normaliseResult(text: string, isError: boolean): string {
  let normal = sample(text).replace(VOLATILE, "~");
  if (isError) normal = normal.replace(VOLATILE_IN_ERRORS, "~").toLowerCase();
  return normal.replace(/\s{2,}|[^\S ]/g, " ").trim();
}

/** Lines by number and not characters by position: a masked duration that grows by a digit shifts every position. */
function sample(text: string): string {
  if (text.length <= WHOLE) return text;
  const middle = text.slice(PART, -PART);
  const lines = middle.split("\n");
  const pick =
    lines.length >= MIDDLE_LINES
      ? Array.from({ length: MIDDLE_LINES }, (_, i) => lines[Math.floor((i * lines.length) / MIDDLE_LINES)]!)
      : Array.from({ length: MIDDLE_LINES }, (_, i) =>
          middle.slice(Math.floor((i * middle.length) / MIDDLE_LINES)).slice(0, LINE),
        );
  return [text.slice(0, PART), ...pick.map((line) => line.slice(0, LINE)), text.slice(-PART)].join("\n");
}

/** What a result is, by its text; `isError` decides where it is given. */
export function kindOfResult(
  text: string,
  isError: boolean | undefined,
  writes: boolean,
): "error" | "nothing" | "unavailable" | undefined {
  const head = text.slice(0, 400).trim();
  if (isError !== false && isUnavailable(head, text.length, isError === true)) return "unavailable";
  if (isError) return "error";
  if (NOTHING.test(head)) return writes && head !== "" ? "error" : "nothing";
  if (isError === undefined && looksLikeError(head, text.length)) return "error";
  return undefined;
}

const NOTHING =
  /^(?:|["'[({]?\s*["'\])}]?|null|none|nil|undefined|empty|n\/a|no (?:results?|match(?:es)?|hits?|entries|records?|rows?|data|items?|output)(?: (?:found|available|returned))?|nothing(?: found)?|not found|0 (?:results?|match(?:es)?|hits?|entries|records?|rows?|items?)(?: found)?|exit(?: code)?:? 0,? (?:empty|no) output|没有(?:结果|找到|数据)?|无(?:结果|数据)?|未找到)[.!。]?$/i;

/** 429 and 503 with a word that makes them a status, or the usual sentences. A long text only mentions them. */
function isUnavailable(head: string, length: number, isError: boolean): boolean {
  if (!isError && length > 200) return false;
  return (
    /(?:^\W*|\b(?:http|status|code|error|response)\b[\W\d]{0,4}(?:code\W{0,3})?)(?:429|503|529)\b/i.test(
      head,
    ) ||
    /\b(?:too many requests|rate.?limit(?:ed|s|ing)?|service (?:is )?(?:temporarily )?unavailable|overloaded)\b/i.test(
      head,
    )
  );
}

function looksLikeError(head: string, length: number): boolean {
  const start =
    /^\W*(?:(?:\w*error|\w*exception|traceback|fatal|failed|failure|panic|invalid|cannot|can't|could not|couldn't|unable to|permission denied|access denied|no such|command not found)\b|(?:error|exit code [1-9]|exit [1-9]))/i;
  if (start.test(head)) return true;
  return (
    length <= 200 &&
    /\b(?:not found|no match|does not exist|doesn't exist|permission denied|connection refused|timed out|is not a valid|not allowed)\b/i.test(
      head,
    )
  );
}
