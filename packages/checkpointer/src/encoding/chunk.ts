import { createHash } from "node:crypto";

/** A piece of stored text under the hash of its content. */
export interface Chunk {
  /** 128 bits of SHA-256, base64url. */
  readonly hash: string;
  /** Tokens, comma-separated; a JSON array without its brackets. */
  readonly text: string;
  /** The chunks that this one refers to. */
  readonly children: readonly Chunk[];
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text, "utf8").digest().subarray(0, 16).toString("base64url");
}

export function chunkOf(text: string, children: readonly Chunk[]): Chunk {
  return { hash: hashOf(text), text, children };
}

/** All chunks under `roots` that are not `known`, children before parents. What stands below a known chunk is known too. */
export function chunksToStore(roots: Iterable<Chunk>, known: { has(hash: string): boolean }): Chunk[] {
  const result: Chunk[] = [];
  const seen = new Set<string>();
  const stack: { readonly chunk: Chunk; next: number }[] = [];
  for (const root of roots) {
    enter(root);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const child = top.chunk.children[top.next++];
      if (child) enter(child);
      else {
        result.push(top.chunk);
        stack.pop();
      }
    }
  }
  return result;

  function enter(chunk: Chunk): void {
    if (known.has(chunk.hash) || seen.has(chunk.hash)) return;
    seen.add(chunk.hash);
    stack.push({ chunk, next: 0 });
  }
}
