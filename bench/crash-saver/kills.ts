import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CompactSaver } from "@longhaul/checkpointer";
import { randomOf } from "../saver/words.ts";
import type { Job } from "./child.ts";
import { type CrashPoint, crashPointsOf } from "./crash-points.ts";
import { Expected } from "./expected.ts";
import { parseLog } from "./log.ts";
import {
  driverOf,
  newPlace,
  type Place,
  removePlace,
  SERVERS,
  type Servers,
  type Storage,
} from "./stores.ts";

/** A store lives through so many kills, each of which may leave something behind for the next. */
const KILLS_PER_STORE = 12;
/** A child that does not come to its crash point is killed. */
const LONGEST_MS = 10_000;

export interface KillReport {
  readonly kills: number;
  readonly byPoint: ReadonlyMap<CrashPoint, number>;
  /** Calls that were acknowledged before a kill. */
  readonly acknowledged: number;
  readonly wrong: readonly string[];
}

/** Kills a working process again and again, and checks the store after each time. The same seed gives the same calls and crash points. */
export async function runKills(options: {
  readonly storage: Storage;
  readonly kills: number;
  readonly seed: number;
  readonly servers?: Servers;
  /** @default all of the storage */
  readonly points?: readonly CrashPoint[];
}): Promise<KillReport> {
  const { storage, kills, seed, servers = SERVERS, points = crashPointsOf(storage) } = options;
  const next = randomOf(seed);
  const byPoint = new Map<CrashPoint, number>();
  const wrong: string[] = [];
  let acknowledged = 0;
  let place = newPlace(storage, servers);
  let expected = new Expected();
  // the next one loads while this one works and is checked
  let child = startChild();
  try {
    for (let kill = 0; kill < kills; kill++) {
      if (kill > 0 && kill % KILLS_PER_STORE === 0) {
        await removePlace(place);
        place = newPlace(storage, servers);
        expected = new Expected();
      }
      // every second kill comes from outside
      const point = kill % 2 === 0 ? "timer" : (points[(kill >> 1) % points.length] as CrashPoint);
      const rare = /sweep|delete|rename/.test(point);
      const job: Job = { place, point, countdown: 1 + (next() % (rare ? 3 : 40)), seed: next() };
      const current = child;
      child = startChild();
      const died = await killed(current, job, 5 + (next() % 400));
      if (died !== "SIGKILL") wrong.push(`kill ${kill} (${point}): the child ended by itself: ${died}`);
      for (const line of logOf(place, current)) {
        expected.follow(line);
        if (line.is === "done") acknowledged += 1;
      }
      const found = await checked(place, expected);
      for (const text of found) wrong.push(`kill ${kill} (${point} ${job.countdown}, seed ${seed}): ${text}`);
      byPoint.set(point, (byPoint.get(point) ?? 0) + 1);
      if (found.length > 0) {
        // what is wrong once would be found at every kill that follows
        await removePlace(place);
        place = newPlace(storage, servers);
        expected = new Expected();
      }
    }
  } finally {
    child.kill("SIGKILL");
    await removePlace(place);
  }
  return { kills, byPoint, acknowledged, wrong };
}

function startChild(): ChildProcess {
  const path = fileURLToPath(new URL("./child.ts", import.meta.url));
  return fork(path, [], {
    execArgv: ["--import", "tsx"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
}

/** @returns the signal that ended it, or what it said */
async function killed(child: ChildProcess, job: Job, afterMs: number): Promise<string> {
  let said = "";
  child.stderr?.on("data", (data) => {
    said += String(data);
  });
  const exit = once(child, "exit") as Promise<[number | null, string | null]>;
  await Promise.race([once(child, "message"), exit]);
  const ready = once(child, "message");
  if (child.connected) child.send(job);
  await Promise.race([ready, exit]);
  const timer = setTimeout(() => child.kill("SIGKILL"), job.point === "timer" ? afterMs : LONGEST_MS);
  const [code, signal] = await exit;
  clearTimeout(timer);
  return signal ?? `code ${code}: ${said.slice(0, 2_000)}`;
}

function logOf({ folder }: Place, { pid }: ChildProcess) {
  const path = join(folder, `log-${pid}.jsonl`);
  if (!existsSync(path)) return [];
  const lines = parseLog(readFileSync(path, "utf8"));
  rmSync(path);
  return lines;
}

async function checked(place: Place, expected: Expected): Promise<string[]> {
  const saver = new CompactSaver(driverOf(place));
  try {
    return await expected.check(saver);
  } catch (error) {
    return [`checking failed: ${error instanceof Error ? error.stack : String(error)}`];
  } finally {
    await saver.end();
  }
}
