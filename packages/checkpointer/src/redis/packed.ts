/** A few fields before the bytes of a row, in one value: a line of JSON, then the bytes. */
export function packed(fields: readonly unknown[], data: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(fields)}\n`, "utf8"), data]);
}

export function unpacked<T extends readonly unknown[]>(
  value: Buffer,
): { readonly fields: T; readonly data: Uint8Array } {
  const end = value.indexOf(10);
  return { fields: JSON.parse(value.toString("utf8", 0, end)) as T, data: value.subarray(end + 1) };
}
