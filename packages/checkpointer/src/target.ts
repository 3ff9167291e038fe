import { InvalidOptionsError } from "@longhaul/core";

/** Where a saver keeps its data. */
export type Target =
  | { readonly kind: "memory" }
  | { readonly kind: "sqlite"; readonly path: string; readonly readOnly: boolean }
  | { readonly kind: "files"; readonly path: string; readonly readOnly: boolean }
  | { readonly kind: "postgres" | "redis"; readonly url: string };

/**
 * Reads a connection string: `agent.db`, `sqlite:agent.db`, `:memory:`, `file:./checkpoints`, `postgres://…`, `redis://…`. With `?mode=ro` the
 * first, a folder and Postgres are only looked at.
 *
 * @throws InvalidOptionsError for an empty string, a NUL byte, or an unknown scheme.
 */
export function parseTarget(target: string): Target {
  const expected =
    '"agent.db", "sqlite:agent.db", ":memory:", "file:./checkpoints", "postgres://…" or "redis://…"';
  const invalid = () => new InvalidOptionsError({ option: "target", value: target, expected });
  if (typeof target !== "string" || target.trim() === "" || target.includes("\0")) throw invalid();
  if (target === ":memory:") return { kind: "memory" };
  if (/^postgres(ql)?:\/\//i.test(target)) {
    const mode = URL.canParse(target) ? new URL(target).searchParams.get("mode") : null;
    if (mode !== null && mode !== "ro") throw invalid();
    return { kind: "postgres", url: target };
  }
  if (/^rediss?:\/\//i.test(target)) return { kind: "redis", url: target };
  const [scheme, rest] = splitScheme(target);
  if (scheme === "file") {
    const [folder = "", mode] = rest.replace(/^\/\/(?=\/)/, "").split("?", 2);
    if (folder === "" || (mode !== undefined && mode !== "mode=ro")) throw invalid();
    return { kind: "files", path: folder, readOnly: mode !== undefined };
  }
  if (scheme !== undefined && scheme !== "sqlite") throw invalid();
  const [path = "", query] = scheme === "sqlite" ? rest.replace(/^\/\/(?=[/.])/, "").split("?", 2) : [rest];
  if (path === "") throw invalid();
  const mode = new URLSearchParams(query).get("mode");
  if (mode !== null && mode !== "ro" && mode !== "rwc") throw invalid();
  return { kind: "sqlite", path, readOnly: mode === "ro" };
}

/** A single letter before the colon is a drive, and `:memory:` has none. */
function splitScheme(target: string): [string | undefined, string] {
  const match = /^([a-z][a-z0-9+-]+):(.*)$/is.exec(target);
  return match ? [(match[1] as string).toLowerCase(), match[2] as string] : [undefined, target];
}

/** For messages: without the password. */
export function describeTarget(target: Target): string {
  if (target.kind === "memory") return ":memory:";
  if ("path" in target) return target.path;
  try {
    const url = new URL(target.url);
    return `${url.protocol}//${url.host}${url.pathname}`;
  } catch {
    return target.kind;
  }
}
