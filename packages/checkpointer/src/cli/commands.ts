import { createReadStream, existsSync, rmSync } from "node:fs";
import { access, open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { CompactSaver } from "../compact-saver.ts";
import type { ThreadRow } from "../driver/driver.ts";
import { DamagedRecordError, NoSuchCheckpointError } from "../errors.ts";
import type { CompactSaverOptions } from "../saver-options.ts";
import { parseTarget } from "../target.ts";
import { type CliIo, UsageError } from "./io.ts";
import { countOf, type OPTIONS, policyOf, type Values } from "./options.ts";
import { openOther } from "./other-savers.ts";
import { Progress } from "./progress.ts";
import type { Row } from "./table.ts";

interface Call {
  readonly io: CliIo;
  readonly values: Values;
  /** What follows the command. */
  readonly args: readonly string[];
  readonly options: CompactSaverOptions;
}

interface Answer {
  /** undefined where the result went elsewhere. */
  readonly rows: readonly Row[] | undefined;
  /** 0 fine, 1 something is wrong with the data. */
  readonly code: number;
  /** What is wrong, besides the rows. */
  readonly problem?: string | undefined;
}

export interface Command {
  readonly usage: string;
  readonly about: string;
  readonly options: readonly (keyof typeof OPTIONS)[];
  /** Least and most arguments. */
  readonly args: readonly [number, number];
  readonly run: (call: Call) => Promise<Answer>;
}

export const COMMANDS: Readonly<Record<string, Command>> = {
  threads: {
    usage: "threads <target>",
    about: "threads with checkpoints",
    options: [],
    args: [1, 1],
    run: (call) =>
      reading(call, async (saver) => {
        const rows: Row[] = [];
        const problem = await threadsOf(saver, ({ threadId, checkpoints, latestCheckpointId }) =>
          rows.push({ thread: threadId, checkpoints, latest: latestCheckpointId }),
        );
        return { rows, code: problem === undefined ? 0 : 1, problem };
      }),
  },
  show: {
    usage: "show <target> [thread] [--limit 10] [--namespace ns] [--checkpoint id]",
    about: "newest checkpoints, or the values of one",
    options: ["limit", "namespace", "checkpoint"],
    args: [1, 2],
    run: (call) => reading(call, (saver) => show(saver, call)),
  },
  stats: {
    usage: "stats <target> [thread]",
    about: "checkpoints, chunks and bytes",
    options: [],
    args: [1, 2],
    run: (call) =>
      reading(call, async (saver) => ({ rows: [{ ...(await saver.stats(call.args[1])) }], code: 0 })),
  },
  verify: {
    usage: "verify <target> [thread]",
    about: "reads everything: checksums, parents, references; exit code 1 when something is wrong",
    options: [],
    args: [1, 2],
    run: (call) =>
      reading(call, async (saver) => {
        const { problems, ...report } = await saver.verify(call.args[1]);
        const rows = problems.length > 0 ? problems.map((problem) => ({ ...problem })) : [{ ...report }];
        return { rows, code: report.ok ? 0 : 1 };
      }),
  },
  prune: {
    usage: "prune <target> <thread>|--all [--keep-last n] [--max-age 7d] [--no-milestones] [--dry-run]",
    about: "deletes what the policy does not keep; without one the recommended policy",
    options: ["all", "keep-last", "max-age", "no-milestones", "dry-run"],
    args: [1, 2],
    run: (call) => writing(call, call.args[0], (saver) => prune(saver, call)),
  },
  export: {
    usage: "export <target> <thread> [--out file]",
    about: "a thread as readable JSON Lines",
    options: ["out"],
    args: [2, 2],
    run: (call) => reading(call, (saver) => exportTo(saver, call)),
  },
  import: {
    usage: "import <target> <file> [--thread id]",
    about: "stores what export gave",
    options: ["thread"],
    args: [2, 2],
    run: (call) =>
      creating(call, async (saver) => {
        // before anything is made for it
        await access(call.args[1] as string);
        const lines = createInterface({
          input: createReadStream(call.args[1] as string),
          crlfDelay: Number.POSITIVE_INFINITY,
        });
        const threadId = call.values.thread as string | undefined;
        return { rows: [{ thread: await saver.importThread(lines, { threadId }) }], code: 0 };
      }),
  },
  migrate: {
    usage: "migrate <from> <to> [thread …]",
    about:
      "takes threads over, from sqlite-saver:file or postgres-saver:url of the official savers or from any target",
    options: [],
    args: [2, Number.POSITIVE_INFINITY],
    run: (call) => writing(call, call.args[1], (saver) => migrate(saver, call)),
  },
};

/** Looking must not create a file or change one, and a thread that is asked for must be there. */
function reading(call: Call, job: (saver: CompactSaver) => Promise<Answer>): Promise<Answer> {
  const [target, thread] = call.args;
  return writing(call, onlyLookedAt(target as string), async (saver) => {
    if (thread !== undefined) await mustExist(saver, thread);
    return job(saver);
  });
}

function onlyLookedAt(target: string): string {
  const parsed = parseTarget(target);
  if (parsed.kind === "sqlite" && parsed.path !== ":memory:") return `sqlite:${parsed.path}?mode=ro`;
  if (parsed.kind === "files") return `file:${parsed.path}?mode=ro`;
  if (parsed.kind !== "postgres") return target;
  const url = new URL(parsed.url);
  url.searchParams.set("mode", "ro");
  return url.href;
}

async function mustExist(saver: CompactSaver, threadId: string): Promise<void> {
  for await (const _ of saver.list({ configurable: { thread_id: threadId } }, { limit: 1 })) return;
  throw new NoSuchCheckpointError({ threadId });
}

/** Takes away what was made for a command that failed before it stored anything. */
async function creating(call: Call, job: (saver: CompactSaver) => Promise<Answer>): Promise<Answer> {
  const target = call.args[0] as string;
  const parsed = parseTarget(target);
  const isNew = "path" in parsed && !existsSync(parsed.path);
  try {
    return await writing(call, target, job);
  } catch (error) {
    if (isNew)
      for (const suffix of ["", "-wal", "-shm"])
        rmSync(parsed.path + suffix, { recursive: true, force: true });
    throw error;
  }
}

/** Hands over every thread that can be read; resolves to what is wrong with another one. */
async function threadsOf(
  saver: CompactSaver,
  take: (thread: ThreadRow) => void,
): Promise<string | undefined> {
  try {
    for await (const thread of saver.listThreads()) take(thread);
  } catch (error) {
    // storages report damage after all that is sound
    if (!DamagedRecordError.isInstance(error)) throw error;
    return error.message;
  }
  return undefined;
}

async function writing(
  call: Call,
  target: string | undefined,
  job: (saver: CompactSaver) => Promise<Answer>,
): Promise<Answer> {
  // the graphs' code is not here: look at any state, and stamp none
  const saver = CompactSaver.fromConnString(target as string, { ...call.options, migrations: "as-stored" });
  try {
    return await job(saver);
  } finally {
    await saver.end();
  }
}

async function show(saver: CompactSaver, { values, args }: Call): Promise<Answer> {
  const thread = args[1];
  const { namespace, checkpoint } = values;
  if (checkpoint !== undefined) {
    if (thread === undefined) throw new UsageError("--checkpoint needs a thread");
    const configurable = { thread_id: thread, checkpoint_ns: namespace ?? "", checkpoint_id: checkpoint };
    const tuple = await saver.getTuple({ configurable });
    if (!tuple) throw new NoSuchCheckpointError({ threadId: thread, checkpointId: String(checkpoint) });
    const channels = Object.entries(tuple.checkpoint.channel_values).map(([channel, value]) => ({
      channel,
      value,
    }));
    const writes = (tuple.pendingWrites ?? []).map(([task, channel, value]) => ({ channel, task, value }));
    return { rows: [...channels, ...writes], code: 0 };
  }
  const rows: Row[] = [];
  const config = { configurable: { thread_id: thread, checkpoint_ns: namespace } };
  for await (const tuple of saver.list(config, { limit: countOf(values, "limit", 10) as number })) {
    const { thread_id, checkpoint_ns, checkpoint_id } = tuple.config.configurable ?? {};
    rows.push({
      ...(thread === undefined ? { thread: thread_id } : {}),
      checkpoint: checkpoint_id,
      ...(checkpoint_ns ? { namespace: checkpoint_ns } : {}),
      time: tuple.checkpoint.ts,
      source: tuple.metadata?.source,
      step: tuple.metadata?.step,
      pendingWrites: tuple.pendingWrites?.length ?? 0,
      channels: Object.keys(tuple.checkpoint.channel_values).join(" "),
    });
  }
  return { rows, code: 0 };
}

async function prune(saver: CompactSaver, { values, args, io }: Call): Promise<Answer> {
  const thread = args[1];
  if ((thread === undefined) === !values.all)
    throw new UsageError("name a thread, or all of them with --all");
  const policy = policyOf(values);
  const progress = new Progress(io);
  const rows: Row[] = [];
  const threads: string[] = thread === undefined ? [] : [thread];
  if (thread !== undefined) await mustExist(saver, thread);
  const problem =
    thread === undefined ? await threadsOf(saver, ({ threadId }) => threads.push(threadId)) : undefined;
  for (const [i, id] of threads.entries()) {
    progress.update(`${i} of ${threads.length} threads pruned`);
    const { removed, ...report } = await saver.prune(id, policy, { dryRun: values["dry-run"] === true });
    rows.push({
      thread: id,
      kept: report.kept,
      removed: removed.length,
      values: report.removedValues,
      chunks: report.removedChunks,
      records: report.removedRecords,
    });
  }
  progress.end();
  return { rows, code: problem === undefined ? 0 : 1, problem };
}

async function exportTo(saver: CompactSaver, { values, args, io }: Call): Promise<Answer> {
  const thread = args[1] as string;
  if (typeof values.out !== "string") {
    for await (const line of saver.exportThread(thread)) io.out(line);
    return { rows: undefined, code: 0 };
  }
  const progress = new Progress(io);
  // a file that is there is not written over
  const file = await open(values.out, "wx");
  let lines = 0;
  try {
    for await (const line of saver.exportThread(thread)) {
      await file.write(`${line}\n`);
      lines += 1;
      progress.update(`${lines} lines written`);
    }
  } finally {
    progress.end();
    await file.close();
  }
  return { rows: [{ thread, lines, file: values.out }], code: 0 };
}

async function migrate(saver: CompactSaver, { args, io, options }: Call): Promise<Answer> {
  const [from = "", , ...threads] = args;
  const progress = new Progress(io);
  const other = await openOther(from);
  try {
    if (other) {
      const { problems, ...report } = await saver.migrateFrom(
        other.saver,
        threads.length > 0 ? threads : undefined,
        {
          onProgress: ({ threadId, done, total }) =>
            progress.update(`${threadId}: ${done} of ${total} checkpoints`),
        },
      );
      progress.end();
      const rows = problems.length > 0 ? problems.map((problem) => ({ ...problem })) : [{ ...report }];
      return { rows, code: problems.length > 0 ? 1 : 0 };
    }
  } finally {
    await other?.end();
  }
  // ours: exactly, with artifacts and task paths
  const source = CompactSaver.fromConnString(onlyLookedAt(from), options);
  try {
    const ids = [...threads];
    const problem =
      ids.length === 0 ? await threadsOf(source, ({ threadId }) => ids.push(threadId)) : undefined;
    for (const [i, id] of ids.entries()) {
      progress.update(`${i} of ${ids.length} threads: ${id}`);
      await saver.importThread(source.exportThread(id));
    }
    progress.end();
    return { rows: [{ threads: ids.length }], code: problem === undefined ? 0 : 1, problem };
  } finally {
    await source.end();
  }
}
