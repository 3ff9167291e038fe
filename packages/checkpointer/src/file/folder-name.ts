import { createHash } from "node:crypto";

/**
 * Folder of a thread: what is harmless of its id, for people, and a hash that tells ids apart, also where names differ in case only or
 * are too long for a file system. An id cannot leave the root.
 */
export function folderName(threadId: string): string {
  const readable = threadId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  const hash = createHash("sha256").update(threadId, "utf8").digest("hex").slice(0, 24);
  return readable === "" ? hash : `${readable}-${hash}`;
}
