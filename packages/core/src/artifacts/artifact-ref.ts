import { digestText } from "../json/canonical-json.ts";

/** Reference of a content: `lh-` and the first 16 hex digits of its digest. */
export function artifactRef(content: string): string {
  return `lh-${digestText(content).slice(0, 16)}`;
}

/** Matches references in running text. */
export const ARTIFACT_REF_PATTERN: RegExp = /\blh-[0-9a-f]{16}\b/g;
