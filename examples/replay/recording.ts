/** One assistant turn of a recorded run, with the recorded results of its calls. */
export interface RecordedTurn {
  readonly content: string;
  readonly calls: readonly {
    readonly name: string;
    readonly args: Record<string, unknown>;
    readonly result: string;
  }[];
}

/** One human turn and the assistant turns that followed it. */
interface RecordedExchange {
  readonly human: string;
  readonly turns: readonly RecordedTurn[];
}

/** A recorded run of a tool-calling agent. */
export interface RecordedRun {
  readonly id: string;
  readonly system: string;
  readonly exchanges: readonly RecordedExchange[];
}

export interface MalformedLine {
  readonly line: number;
  readonly reason: string;
}

/**
 * Reads recorded runs: one JSON object a line, `{ id, messages }`, messages in OpenAI chat form. A line that cannot be used is
 * reported with its number and the rest goes on. A trailing human turn, which nothing answers, is dropped.
 */
export function parseRecordings(text: string): { runs: RecordedRun[]; malformed: MalformedLine[] } {
  const runs: RecordedRun[] = [];
  const malformed: MalformedLine[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      runs.push(parseRun(JSON.parse(line)));
    } catch (error) {
      malformed.push({ line: index + 1, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { runs, malformed };
}

function parseRun(value: unknown): RecordedRun {
  const { id, messages } = object(value, "the line");
  if (!Array.isArray(messages)) throw new Error("`messages` is not a list");
  let system = "";
  const exchanges: { human: string; turns: { content: string; calls: OpenCall[] }[] }[] = [];
  for (const [i, entry] of messages.entries()) {
    const message = object(entry, `message ${i}`);
    const content = textOf(message.content, `message ${i}`);
    if (message.role === "system") system ||= content;
    else if (message.role === "user") exchanges.push({ human: content, turns: [] });
    else {
      const turns = exchanges.at(-1)?.turns;
      if (!turns)
        throw new Error(`message ${i}: role ${JSON.stringify(message.role)} before any user message`);
      if (message.role === "assistant") turns.push({ content, calls: callsOf(message.tool_calls, i) });
      else if (message.role === "tool") answer(turns.at(-1)?.calls, String(message.tool_call_id), content, i);
      else throw new Error(`message ${i}: unknown role ${JSON.stringify(message.role)}`);
    }
  }
  if (exchanges.at(-1)?.turns.length === 0) exchanges.pop();
  if (exchanges.length === 0) throw new Error("no user message that an assistant answers");
  return {
    id: typeof id === "string" ? id : "",
    system,
    exchanges: exchanges.map(({ human, turns }) => ({
      human,
      turns: turns.map(({ content, calls }) => ({
        content,
        calls: calls.map(({ name, args, result }) => ({
          name,
          args,
          result: result ?? "(no result recorded)",
        })),
      })),
    })),
  };
}

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
  result?: string;
}

function callsOf(value: unknown, at: number): OpenCall[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`message ${at}: \`tool_calls\` is not a list`);
  return value.map((entry, i) => {
    const call = object(entry, `message ${at}, call ${i}`);
    const fn = object(call.function, `message ${at}, call ${i}`);
    if (typeof fn.name !== "string") throw new Error(`message ${at}, call ${i}: no function name`);
    const args = typeof fn.arguments === "string" ? JSON.parse(fn.arguments || "{}") : (fn.arguments ?? {});
    return { id: String(call.id), name: fn.name, args: object(args, `message ${at}, call ${i}, arguments`) };
  });
}

function answer(calls: OpenCall[] | undefined, id: string, content: string, at: number): void {
  const call = calls?.find((candidate) => candidate.id === id && candidate.result === undefined);
  if (!call)
    throw new Error(
      `message ${at}: a result for ${JSON.stringify(id)}, which no assistant message asked for`,
    );
  call.result = content;
}

function object(value: unknown, where: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new Error(`${where} is not an object`);
}

function textOf(value: unknown, where: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value))
    return value.map((part) => String((part as { text?: unknown })?.text ?? "")).join("\n");
  throw new Error(`${where}: content is neither text nor a list`);
}
