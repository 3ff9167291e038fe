/** One line of a bench: what was measured, and whether it meets its bar. */
export interface Result {
  readonly text: string;
  readonly met: boolean;
}

/** `ours` must be at most `bar` times `theirs`. Figures that are no positive numbers meet nothing. */
export function ratio(
  what: string,
  {
    ours,
    theirs,
    bar,
    show,
  }: {
    readonly ours: number;
    readonly theirs: number;
    readonly bar: number;
    readonly show: (n: number) => string;
  },
): Result {
  const isMeasured = ours > 0 && theirs > 0 && Number.isFinite(ours) && Number.isFinite(theirs);
  const met = isMeasured && ours <= theirs * bar;
  const text = `${what}: ${show(ours)} against ${show(theirs)}, ${share(ours / theirs)} (bar ${share(bar)})`;
  return { met, text: `${text}${met ? "" : "  MISSED"}` };
}

/** `value` must be at most `bar`. */
export function atMost(
  what: string,
  {
    value,
    bar,
    show,
  }: { readonly value: number; readonly bar: number; readonly show: (n: number) => string },
): Result {
  const met = Number.isFinite(value) && value <= bar;
  return { met, text: `${what}: ${show(value)} (bar ${show(bar)})${met ? "" : "  MISSED"}` };
}

export function fact(text: string): Result {
  return { met: true, text };
}

export const bytes = (n: number): string =>
  Math.abs(n) >= 1e8
    ? `${(n / 1e6).toFixed(0)} MB`
    : Math.abs(n) >= 1e5
      ? `${(n / 1e6).toFixed(2)} MB`
      : `${(n / 1e3).toFixed(1)} kB`;
export const ms = (n: number): string => (n >= 10 ? `${n.toFixed(0)} ms` : `${n.toFixed(2)} ms`);
export const times = (n: number): string => `${n.toFixed(2)}×`;

/** Small ratios read better as 1/n. */
function share(n: number): string {
  return n < 0.4 ? `1/${(1 / n).toFixed(n < 0.1 ? 0 : 1)}` : n.toFixed(2);
}
