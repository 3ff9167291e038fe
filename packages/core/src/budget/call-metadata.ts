import type { CallKind } from "./usage.ts";

/** Metadata key by which a call says what it is for: `metadata: { longhaul_kind: "summary" }`. */
export const CALL_KIND_KEY = "longhaul_kind";

const KINDS: readonly string[] = ["turn", "summary", "retry", "judge"];

/** What a call says it is for, by metadata or tag. */
export function declaredKind(
  tags: readonly string[] | undefined,
  metadata: Readonly<Record<string, unknown>> | undefined,
): CallKind | undefined {
  const tag = tags?.find((entry) => entry.startsWith("longhaul:"))?.slice("longhaul:".length);
  const kind = metadata?.[CALL_KIND_KEY] ?? tag;
  return typeof kind === "string" && KINDS.includes(kind) ? (kind as CallKind) : undefined;
}

/** Names on the way to the agent that makes the call; the ids in a namespace change with each run and are left out. */
export function agentOf(metadata: Readonly<Record<string, unknown>> | undefined): string {
  const namespace = typeof metadata?.checkpoint_ns === "string" ? metadata.checkpoint_ns : "";
  const nodes = namespace.split("|").map((segment) => segment.split(":")[0]);
  const path = nodes.slice(0, -1).filter(Boolean);
  const name = metadata?.lc_agent_name;
  if (typeof name === "string" && name !== "") path.push(name);
  return path.length === 0 ? "main" : path.join("/");
}

export function modelName(
  extraParams: Readonly<Record<string, unknown>> | undefined,
  metadata: Readonly<Record<string, unknown>> | undefined,
): string | undefined {
  const params = extraParams?.invocation_params as { model?: unknown; model_name?: unknown } | undefined;
  return [metadata?.ls_model_name, params?.model, params?.model_name].find(
    (name): name is string => typeof name === "string" && name !== "",
  );
}
