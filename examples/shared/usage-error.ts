/** The command line asks for what there is not; programs answer with their usage and exit code 2. */
export class UsageError extends Error {
  readonly code = "USAGE";
}

/** Reads a whole number from a command-line option. */
export function wholeNumber(
  name: string,
  text: string | undefined,
  fallback: number,
  least: number,
  most: number,
): number {
  const value = text === undefined ? fallback : Number(text);
  if (Number.isInteger(value) && value >= least && value <= most && text !== "") return value;
  throw new UsageError(`${name} takes a whole number from ${least} to ${most}, not ${JSON.stringify(text)}.`);
}
