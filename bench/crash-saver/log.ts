/** What the child did, a line of JSON each, written before and after each call. A line that the kill cut short says nothing. */
export type LogLine =
  | { readonly is: "ready" }
  | {
      readonly is: "begin" | "done";
      readonly call: "put";
      readonly thread: string;
      readonly id: string;
      readonly step: number;
    }
  | {
      readonly is: "begin" | "done";
      readonly call: "writes";
      readonly thread: string;
      readonly id: string;
      readonly step: number;
      readonly task: number;
    }
  | { readonly is: "begin" | "done"; readonly call: "prune" | "delete" | "migrate"; readonly thread: string }
  | {
      readonly is: "begin" | "done";
      readonly call: "record" | "artifact";
      readonly thread: string;
      readonly n: number;
    };

export function parseLog(text: string): readonly LogLine[] {
  return text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine);
}
