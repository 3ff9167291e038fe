import { parseArgs } from "node:util";
import { LonghaulError } from "@longhaul/core";
import { CompactSaver } from "../compact-saver.ts";
import { parseTarget } from "../target.ts";

const USAGE = `longhaul <command> <target> [thread] [--json]

  threads  threads with checkpoints
  show     newest checkpoints of a thread (--limit n, default 10)
  stats    checkpoints, chunks, bytes; of a thread or of all
  verify   checksums, parents and references; exit code 1 when something is wrong

Targets: agent.db, sqlite:agent.db. The commands only read.`;

export interface CliOutput {
  out(line: string): void;
  error(line: string): void;
}

/** Runs one command; resolves to the exit code: 0 fine, 1 something is wrong with the data, 2 wrong usage. */
export async function main(args: readonly string[], { out, error }: CliOutput): Promise<number> {
  let saver: CompactSaver | undefined;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: "boolean" }, limit: { type: "string" }, help: { type: "boolean" } },
    });
    const [command, target, thread] = positionals;
    if (values.help || command === undefined || target === undefined) {
      (values.help ? out : error)(USAGE);
      return values.help ? 0 : 2;
    }
    const run = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
    const limit = values.limit === undefined ? 10 : Number(values.limit);
    if (!run || !Number.isInteger(limit) || limit < 1) {
      error(USAGE);
      return 2;
    }
    saver = CompactSaver.fromConnString(readOnly(target));
    const { rows, code } = await run(saver, thread, limit);
    if (values.json) out(JSON.stringify(rows, null, 2));
    else for (const row of rows) out(toLine(row));
    return code;
  } catch (problem) {
    error(problem instanceof Error ? problem.message : String(problem));
    return LonghaulError.isInstance(problem) ? 1 : 2;
  } finally {
    await saver?.end();
  }
}

type Row = Readonly<Record<string, unknown>>;
type Command = (
  saver: CompactSaver,
  thread: string | undefined,
  limit: number,
) => Promise<{ readonly rows: readonly Row[]; readonly code: number }>;

const COMMANDS: Record<string, Command> = {
  threads: async (saver) => {
    const rows: Row[] = [];
    for await (const thread of saver.listThreads()) rows.push({ ...thread });
    return { rows, code: 0 };
  },
  show: async (saver, thread, limit) => {
    const rows: Row[] = [];
    for await (const tuple of saver.list({ configurable: { thread_id: thread } }, { limit })) {
      const {
        checkpoint_ns: namespace,
        checkpoint_id: checkpoint,
        thread_id,
      } = tuple.config.configurable ?? {};
      rows.push({
        ...(thread === undefined ? { thread: thread_id } : {}),
        checkpoint,
        ...(namespace ? { namespace } : {}),
        time: tuple.checkpoint.ts,
        source: tuple.metadata?.source,
        step: tuple.metadata?.step,
        channels: Object.keys(tuple.checkpoint.channel_values).join(" "),
        pendingWrites: tuple.pendingWrites?.length ?? 0,
      });
    }
    return { rows, code: 0 };
  },
  stats: async (saver, thread) => ({ rows: [{ ...(await saver.stats(thread)) }], code: 0 }),
  verify: async (saver, thread) => {
    const { problems, ...report } = await saver.verify(thread);
    return {
      rows: [{ ...report, problems: problems.length }, ...problems.map((problem) => ({ ...problem }))],
      code: report.ok ? 0 : 1,
    };
  },
};

/** Looking must not create a file or change one. */
function readOnly(target: string): string {
  const parsed = parseTarget(target);
  return parsed.kind === "sqlite" && parsed.path !== ":memory:" ? `sqlite:${parsed.path}?mode=ro` : target;
}

function toLine(row: Row): string {
  return Object.entries(row)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${typeof value === "number" ? Math.round(value * 100) / 100 : value}`)
    .join("  ");
}
