import type { PendingWrite } from "@langchain/langgraph-checkpoint";
import { InvalidOptionsError } from "@longhaul/core";

/** What changed in one graph. The functions get values of their own and must give the same result for the same input. */
export interface GraphMigration {
  /** Nodes with another name: `{ review: "approve" }`. @default none */
  readonly nodes?: Readonly<Record<string, string>> | undefined;
  /**
   * The state's channels after the change. Channels that were never written are absent, those it leaves out go. A channel that
   * stores deltas (`DeltaChannel`) must keep its name and meaning. Needs `migrateWrite`.
   * @default no change
   */
  readonly migrate?: ((values: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /**
   * The same for an update that is not applied yet: a pending write of a finished task, or a field of the graph's input. None, one or
   * several updates take its place. Needs `migrate`.
   */
  readonly migrateWrite?: ((channel: string, value: unknown) => readonly PendingWrite[]) | undefined;
  /** The same for what a `Send` to this node (by its new name) carries. @default no change */
  readonly migrateSend?: ((node: string, args: unknown) => unknown) | undefined;
}

/** How state of the version before becomes state of `version`. State that was stored without `migrations` is of version 0. */
export interface StateMigration extends GraphMigration {
  /** At least 1; the list has each number from its first to its last once. */
  readonly version: number;
  /** Subgraphs, by the path of nodes that leads there, with `|` between: `"plan"`, `"plan|search"`. @default none changed */
  readonly subgraphs?: Readonly<Record<string, GraphMigration>> | undefined;
}

/** `"as-stored"` for tools that look at any thread: nothing is migrated, refused or stamped. */
export type StateMigrations = readonly StateMigration[] | "as-stored";

const GRAPH_KEYS = ["nodes", "migrate", "migrateWrite", "migrateSend"];

/**
 * The list in its order.
 *
 * @throws InvalidOptionsError when a step is missing or there twice, or is none
 */
export function checkMigrations(given: unknown): readonly StateMigration[] {
  const expected = "a list of { version, … } with each version once";
  if (!Array.isArray(given)) throw new InvalidOptionsError({ option: "migrations", value: given, expected });
  for (const [i, item] of given.entries()) {
    const option = `migrations[${i}]`;
    if (typeof item !== "object" || item === null)
      throw new InvalidOptionsError({ option, value: item, expected: "an object" });
    const { version, subgraphs = {}, ...graph } = item as StateMigration;
    if (!Number.isSafeInteger(version) || version < 1 || version > 9_999) {
      const whole = "a whole number from 1 to 9999";
      throw new InvalidOptionsError({ option: `${option}.version`, value: version, expected: whole });
    }
    checkGraph(option, graph);
    if (typeof subgraphs !== "object" || subgraphs === null) {
      const paths = "an object of paths";
      throw new InvalidOptionsError({ option: `${option}.subgraphs`, value: subgraphs, expected: paths });
    }
    for (const [path, subgraph] of Object.entries(subgraphs))
      checkGraph(`${option}.subgraphs[${JSON.stringify(path)}]`, subgraph);
  }
  const sorted = [...(given as StateMigration[])].sort((a, b) => a.version - b.version);
  for (const [i, { version }] of sorted.entries()) {
    const before = sorted[i - 1]?.version;
    if (before === undefined || version === before + 1) continue;
    const value = given.map((item: StateMigration) => item.version);
    const missing = version === before ? `version ${version} once` : `the step to version ${before + 1} too`;
    throw new InvalidOptionsError({ option: "migrations", value, expected: missing });
  }
  return sorted;
}

function checkGraph(option: string, graph: unknown): void {
  const invalid = (key: string, value: unknown, expected: string) =>
    new InvalidOptionsError({ option: `${option}${key}`, value, expected });
  if (typeof graph !== "object" || graph === null) throw invalid("", graph, "an object");
  const stranger = Object.keys(graph).find((key) => !GRAPH_KEYS.includes(key));
  if (stranger !== undefined)
    throw invalid(`.${stranger}`, (graph as Record<string, unknown>)[stranger], GRAPH_KEYS.join(", "));
  const { nodes = {}, migrate, migrateWrite, migrateSend } = graph as GraphMigration;
  for (const [key, value] of Object.entries({ migrate, migrateWrite, migrateSend }))
    if (value !== undefined && typeof value !== "function") throw invalid(`.${key}`, value, "a function");
  // an update in the old form would be applied to state in the new one
  if ((migrate === undefined) !== (migrateWrite === undefined))
    throw invalid(
      migrate ? ".migrateWrite" : ".migrate",
      undefined,
      "both of migrate and migrateWrite, or none",
    );
  if (typeof nodes !== "object" || nodes === null) throw invalid(".nodes", nodes, "an object of names");
  const names = Object.values(nodes);
  for (const name of names)
    if (typeof name !== "string" || name === "") throw invalid(".nodes", name, "names of nodes");
  if (new Set(names).size < names.length)
    throw invalid(".nodes", nodes, "a new name of its own for each node");
}
