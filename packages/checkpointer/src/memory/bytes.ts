export function copyOf(data: Uint8Array): Uint8Array;
export function copyOf(data: Uint8Array | undefined): Uint8Array | undefined;
export function copyOf(data: Uint8Array | undefined): Uint8Array | undefined {
  return data && Uint8Array.from(data);
}

/** Parts of an address as one key of a Map. */
export function idOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}
