import { InvalidAddressError } from "./errors.ts";

/**
 * A text that may be part of an address: not empty, no NUL, well-formed UTF-16 (two different ill-formed ids would be one in
 * storage).
 *
 * @throws InvalidAddressError
 */
export function storable(field: string, value: unknown): string {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  if (typeof value !== "string")
    throw new InvalidAddressError({
      field,
      reason: `must be a string, but is ${value === null ? "null" : typeof value}`,
    });
  if (value === "") throw new InvalidAddressError({ field, reason: "must not be empty" });
  return wellFormed(field, value);
}

/** As `storable`, but may be empty or absent: the root namespace. */
export function namespaceOf(value: unknown): string {
  if (value === undefined || value === null || value === "") return "";
  return storable("checkpoint_ns", value);
}

function wellFormed(field: string, value: string): string {
  if (value.includes("\0"))
    throw new InvalidAddressError({ field, reason: "must not contain a NUL character" });
  if (!value.isWellFormed())
    throw new InvalidAddressError({ field, reason: "must not contain a lone surrogate" });
  return value;
}
