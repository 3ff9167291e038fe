import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import {
  callTools,
  type Reply,
  ScriptedServer,
  type ScriptRequest,
  seededRandom,
  wireText,
} from "@longhaul/test-kit";
import { Database } from "./database.ts";

export interface PoolOptions {
  readonly url: string;
  readonly workers: number;
  readonly jobs: number;
  /** Workers that are killed and replaced on the way. */
  readonly kills: number;
  readonly seed: number;
}

export interface PoolReport {
  readonly endings: Readonly<Record<string, number>>;
  readonly kills: number;
  /** Runs that another worker went on with. */
  readonly takeovers: number;
  /** Deeds done more than once, and deeds of jobs that were never done without anybody saying so. */
  readonly duplicates: readonly string[];
  readonly losses: readonly string[];
  /** Mails of which nobody knows whether they went out: their agents were told so. */
  readonly unknownMails: number;
}

/** A worker that is to die does so within this time of beginning a job, milliseconds. */
const LONGEST_LIFE_MS = 400;
const DEEDS = ["charge", "ship", "mail"];
let pools = 0;

/** Lets workers end all jobs while some of them are killed, and counts what happened in the world. */
export async function runPool({ url, workers, jobs, kills, seed }: PoolOptions): Promise<PoolReport> {
  const schema = `longhaul_pool_${process.pid}_${pools++}`;
  const model = await ScriptedServer.start({ script: fulfilment });
  const database = new Database(url, schema);
  const longhaul = new Database(url, `${schema}_longhaul`);
  const random = seededRandom(seed);
  let [planned, killed, takeovers] = [0, 0, 0];
  let isOver = false;
  const living = new Set<ChildProcess>();
  const ends: Promise<unknown>[] = [];
  const failures: string[] = [];
  const hire = () => {
    const worker = fork(fileURLToPath(new URL("./worker.ts", import.meta.url)), [url, schema, model.url], {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    living.add(worker);
    let said = "";
    let isDoomed = false;
    worker.stderr?.on("data", (data) => {
      said += String(data);
    });
    worker.on("message", (message: "began" | "took over") => {
      if (message === "took over") takeovers++;
      else if (planned < kills && !isDoomed && random() < 0.5) {
        planned++;
        isDoomed = true;
        setTimeout(() => worker.kill("SIGKILL"), Math.floor(random() * LONGEST_LIFE_MS));
      }
    });
    ends.push(
      once(worker, "exit").then(([code, signal]) => {
        living.delete(worker);
        if (isOver) return;
        if (signal === "SIGKILL") {
          killed++;
          hire();
        } else if (code !== 0) failures.push(said);
      }),
    );
  };
  try {
    await database.create(Array.from({ length: jobs }, (_, n) => `Fulfil order-${n + 1}.`));
    for (let n = 0; n < workers; n++) hire();
    // they end when no job is open; who is hired meanwhile ends behind the others
    for (let i = 0; i < ends.length; i++) await ends[i];
    if (failures.length > 0) throw new Error(`a worker failed: ${failures[0]}`);
    return { ...(await reportOf(database)), kills: killed, takeovers };
  } finally {
    isOver = true;
    for (const worker of living) worker.kill("SIGKILL");
    await model.close();
    await longhaul.drop();
    await database.drop();
    await Promise.all([database.end(), longhaul.end()]);
  }
}

async function reportOf(database: Database): Promise<Omit<PoolReport, "kills" | "takeovers">> {
  const endings: Record<string, number> = {};
  const done = new Map(
    (await database.deeds()).map(({ thread, deed, times }) => [`${thread} ${deed}`, times]),
  );
  const losses: string[] = [];
  let unknownMails = 0;
  for (const { thread, ended, told } of await database.endings()) {
    endings[ended ?? "open"] = (endings[ended ?? "open"] ?? 0) + 1;
    if (told) unknownMails++;
    for (const deed of DEEDS)
      if (!done.has(`${thread} ${deed}`) && !(deed === "mail" && told)) losses.push(`${thread} ${deed}`);
  }
  const duplicates = [...done]
    .filter(([, times]) => times > 1)
    .map(([name, times]) => `${name}: ${times} times`);
  return { endings, duplicates, losses, unknownMails };
}

/** The model's mind: reads the order, charges it, ships it and mails about it at once, looks again, answers. */
function fulfilment({ messages }: ScriptRequest): Reply {
  const text = messages.map(wireText).find((one) => one.includes("Fulfil order-")) ?? "";
  const order = /order-\d+/.exec(text)?.[0] ?? "";
  const steps = messages.filter(({ tool_calls }) => tool_calls?.length).length;
  const plan = [["read_order"], ["charge"], ["ship", "mail"], ["read_order"]];
  const next = plan[steps];
  return next ? callTools(...next.map((name) => [name, { order }] as const)) : `${order} is fulfilled.`;
}
