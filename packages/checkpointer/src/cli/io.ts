/** What the commands need of the world. */
export interface CliIo {
  out(line: string): void;
  error(line: string): void;
  /** To the error stream, without a line end. */
  raw(text: string): void;
  /** Whether the error stream is a terminal. */
  readonly isTerminal: boolean;
  /** Display columns. */
  readonly width: number;
  now(): number;
  env(name: string): string | undefined;
}

/** The call makes no sense. */
export class UsageError extends Error {}
