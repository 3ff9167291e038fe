import { ScriptedServer, ToolWorld } from "@longhaul/test-kit";
import type { Life, Said } from "./child.ts";
import { Lives } from "./lives.ts";
import { script, type Task, wordsOf } from "./script.ts";
import { newPlace, removePlace, type Storage } from "./stores.ts";

/** What runs in always-suspend mode. */
export interface Suspended {
  readonly name: string;
  readonly form: Life["form"];
  readonly task: Task;
  readonly asks: boolean;
}

export const SUSPENDED: readonly Suspended[] = [
  { name: "agent", form: "agent", task: { kind: "steps", steps: 5 }, asks: false },
  { name: "graph", form: "graph", task: { kind: "steps", steps: 5 }, asks: false },
  {
    name: "subagent",
    form: "agent",
    task: { kind: "calls", mode: "record", shape: "subagent" },
    asks: false,
  },
  {
    name: "interrupts",
    form: "agent",
    task: { kind: "calls", mode: "record", shape: "parallel" },
    asks: true,
  },
];

export interface SuspendReport {
  readonly name: string;
  readonly lives: number;
  readonly wrong: readonly string[];
}

const MARK = /\n\n\[Stored result of [^\]]*\]/g;

/**
 * The process ends behind every superstep and behind every effect, and a new one goes on. What it comes to must be what an
 * undisturbed run comes to: the same messages but for the marks of stored results, and the same effects.
 */
export async function alwaysSuspend(storage: Storage, what: Suspended): Promise<SuspendReport> {
  const server = await ScriptedServer.start({ script });
  const place = newPlace(storage);
  const lives = new Lives();
  const world = ToolWorld.open(place.world);
  try {
    const life = (thread: string): Omit<Life, "death"> => ({
      place,
      thread,
      url: server.url,
      form: what.form,
      words: wordsOf(what.task),
      durability: "sync",
      guarded: true,
      asks: what.asks,
      // a call that runs beside the one behind which the process ends would not be suspended, but killed
      concurrency: 1,
    });
    const calm = await lives.run(life("calm"), () => ({ death: { at: "never" } }), 0);
    const cut = await lives.run(life("cut"), () => ({ death: { at: "progress" } }), 1_000);
    if (calm.fate.kind !== "ended" || cut.fate.kind !== "ended") {
      const wrong = [calm.fate, cut.fate].flatMap((fate) => (fate.kind === "failed" ? [fate.why] : []));
      return { name: what.name, lives: cut.kills + 1, wrong };
    }
    const wrong: string[] = [];
    const [wanted, got] = [plain(calm.fate.ending.messages), plain(cut.fate.ending.messages)];
    if (JSON.stringify(wanted) !== JSON.stringify(got))
      wrong.push(`other messages:\n${JSON.stringify(wanted)}\n${JSON.stringify(got)}`);
    if (cut.fate.ending.status !== calm.fate.ending.status) wrong.push(`status ${cut.fate.ending.status}`);
    const effects = (thread: string) =>
      world
        .effects()
        .byBusiness.filter(({ business }) => business.startsWith(`${thread}:`))
        .map(({ tool, business, done }) => `${tool} ${business.slice(thread.length + 1)} ${done}`);
    if (effects("calm").join() !== effects("cut").join())
      wrong.push(`other effects: ${effects("calm").join()} / ${effects("cut").join()}`);
    return { name: what.name, lives: cut.kills + 1, wrong };
  } finally {
    lives.close();
    world.close();
    await server.close();
    await removePlace(place);
  }
}

/** Messages without ids and without the marks that a result was stored. */
function plain(messages: readonly Said[]): unknown[] {
  return messages.map(({ type, text, calls }) => ({
    type,
    text: text.replace(MARK, ""),
    calls: calls.map(({ name, order }) => [name, order]),
  }));
}
