import type { ScriptedServerOptions } from "@longhaul/test-kit";
import { brain } from "./brain/brain.ts";

/** Options of the model server for `startServerProcess`; config: `{ "windowTokens": 32000 }`. */
export function serverOptions(config: { readonly windowTokens?: number } | null): ScriptedServerOptions {
  return { script: brain, windowTokens: config?.windowTokens };
}
