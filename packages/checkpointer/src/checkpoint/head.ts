import type { ChannelVersions, Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { ClassTable } from "../encoding/classes.ts";
import { Encoder } from "../encoding/encoder.ts";
import { valuesOf } from "../encoding/materialise.ts";
import { formOf } from "../encoding/node.ts";
import { ONE_PIECE, Packer } from "../encoding/packer.ts";
import { parseTokens } from "../encoding/references.ts";
import { DamagedRecordError } from "../errors.ts";

/** A checkpoint without its channel values, which stand under their own version. */
export interface Head {
  readonly v: number;
  readonly ts: string;
  readonly versions: ChannelVersions;
  readonly seen: Record<string, ChannelVersions>;
  /** Channels that have a stored value at their version; a missing row of one of these is damage, of others absence. */
  readonly values: readonly string[];
  readonly meta: CheckpointMetadata;
}

/** Heads are written in one piece, so that reading one needs one row. */
export class HeadCodec {
  readonly #classes: ClassTable;
  readonly #encoder: Encoder;

  constructor(classes: ClassTable = new ClassTable()) {
    this.#classes = classes;
    this.#encoder = new Encoder(classes, new Packer(ONE_PIECE));
  }

  /** The metadata's text, at once: what the caller does to it later must not reach the storage. */
  metadataText(metadata: CheckpointMetadata): string {
    return formOf(this.#encoder.encode(metadata, "metadata")).inline;
  }

  text(
    checkpoint: Omit<Checkpoint, "channel_values">,
    values: readonly string[],
    metadataText: string,
  ): string {
    const fields = {
      v: checkpoint.v,
      ts: checkpoint.ts,
      versions: checkpoint.channel_versions ?? {},
      seen: checkpoint.versions_seen ?? {},
      values,
    };
    return `${formOf(this.#encoder.encode(fields, "checkpoint")).inline},${metadataText}`;
  }

  read(text: string): Head {
    const values = valuesOf({ tokens: parseTokens(text), children: [] }, this.#classes);
    const [fields, meta] = values;
    if (values.length !== 2 || !isFields(fields))
      throw new DamagedRecordError({ reason: "it is no checkpoint" });
    return { ...fields, meta: (meta ?? {}) as CheckpointMetadata };
  }
}

function isFields(value: unknown): value is Omit<Head, "meta"> {
  const fields = value as Partial<Head> | null;
  return (
    typeof fields === "object" &&
    fields !== null &&
    typeof fields.v === "number" &&
    typeof fields.ts === "string" &&
    typeof fields.versions === "object" &&
    typeof fields.seen === "object" &&
    Array.isArray(fields.values)
  );
}
