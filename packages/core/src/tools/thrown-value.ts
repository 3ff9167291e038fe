/**
 * What a tool threw, as something that can be looked at: the value itself, or an error in its place when reading it throws (an object
 * that refuses to become text, a revoked proxy) or when there is nothing to read (null, undefined).
 *
 * Everything behind this point asks thrown values for their name, message and cause; one that throws back would leave a claim open
 * in the ledger for as long as the process lives.
 */
export function thrownValue(thrown: unknown): unknown {
  if (thrown === null || thrown === undefined) return new Error(`the tool threw ${thrown}`);
  try {
    let link: unknown = thrown;
    for (let depth = 0; depth < 10 && link !== null && link !== undefined; depth++) {
      String(link);
      if (typeof link !== "object") break;
      const { name, message, code, status, cause } = link as Record<string, unknown>;
      void [name, message, code, status];
      link = cause;
    }
    return thrown;
  } catch {
    return new Error("the tool threw a value that cannot be read");
  }
}
