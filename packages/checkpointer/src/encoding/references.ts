import { DamagedRecordError } from "../errors.ts";
import { OP } from "./ops.ts";

/** Hashes of the chunks to which a stored text refers directly, in order. @throws DamagedRecordError when it is no list of tokens */
export function referencesOf(text: string): string[] {
  let tokens: unknown[];
  try {
    tokens = JSON.parse(`[${text}]`) as unknown[];
  } catch (cause) {
    throw new DamagedRecordError({ reason: "its text is no list of tokens", cause });
  }
  const hashes: string[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const op = tokens[i];
    // the token after NUM is data, whatever it looks like
    if (op === OP.NUM) i += 1;
    else if (op === OP.REF || op === OP.RUN || op === OP.TEXT) hashes.push(String(tokens[++i]));
  }
  return hashes;
}
