import type { Json } from "../json/json.ts";

/** Channel `_longhaulData`: entries by key; the last write of a key wins. */
export interface KeyData {
  readonly v: 1;
  readonly entries: Readonly<Record<string, { readonly value: Json; readonly source?: string }>>;
}
