/**
 * The value with every lone surrogate in its strings (keys included) replaced by U+FFFD; the very same object where there is
 * none. Providers refuse a request whose text is no well-formed UTF-16.
 */
export function wellFormed<T>(value: T): T {
  if (typeof value === "string") return (value.isWellFormed() ? value : value.toWellFormed()) as T;
  if (Array.isArray(value)) {
    const items = value.map(wellFormed);
    return (items.some((item, i) => item !== value[i]) ? items : value) as T;
  }
  if (typeof value !== "object" || value === null || !isPlain(value)) return value;
  let changed = false;
  const entries = Object.entries(value).map(([key, inner]) => {
    const entry = [wellFormed(key), wellFormed(inner)] as const;
    changed ||= entry[0] !== key || entry[1] !== inner;
    return entry;
  });
  return changed ? (Object.fromEntries(entries) as T) : value;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
