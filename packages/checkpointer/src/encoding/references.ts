import { DamagedRecordError } from "../errors.ts";
import { OP } from "./ops.ts";

export type Token = string | number | boolean | null;

/** @throws DamagedRecordError when the text is no list of tokens */
export function parseTokens(text: string): readonly Token[] {
  const [tokens, ...others] = parseLists(`[[${text}]]`);
  // a text with a bracket of its own would be two
  if (!tokens || others.length > 0) throw new DamagedRecordError({ reason: "its text is not well-formed" });
  return tokens;
}

/** Tokens of several texts that stand between brackets, in brackets. */
export function parseLists(json: string): readonly (readonly Token[])[] {
  try {
    return JSON.parse(json) as Token[][];
  } catch (cause) {
    throw new DamagedRecordError({ reason: "its text is not well-formed", cause });
  }
}

/** Hashes of the chunks to which a stored text refers directly, in order. */
export function referencesOf(tokens: readonly Token[]): readonly string[] {
  const found: string[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    // the token after NUM is data, whatever it looks like
    if (token === OP.NUM) i++;
    else if (token === OP.REF || token === OP.RUN || token === OP.TEXT) {
      const hash = tokens[++i];
      if (typeof hash === "string") found.push(hash);
    }
  }
  return found;
}
