/** What a stored text is, shown to operators and to `recall`. */
export interface ArtifactMeta {
  /** `tool-result`, `transcript`, `summary`, `human`, … */
  readonly kind: string;
  /** One line for people and models: tool name and call, step range, … At most 200 characters. */
  readonly label: string;
  /** @default "text/plain" */
  readonly mediaType?: string | undefined;
}

export interface Artifact {
  readonly ref: string;
  readonly content: string;
  readonly meta: ArtifactMeta;
}

/**
 * Large or out-lived text, outside the context. Content is stored once: the same content under the same thread gives
 * the same reference. References are short (`lh-` and 16 hex digits) because models copy them.
 */
export interface ArtifactStore {
  /**
   * Stores and resolves to the reference. With `ref` the caller names it (a digest of inputs, say) and the first content
   * stored under a name stays. Does not resolve before the content can be read back.
   */
  put(thread: string, content: string, meta: ArtifactMeta, ref?: string): Promise<string>;
  /** undefined when there is none; throws (typed) when it is there but damaged. */
  get(thread: string, ref: string): Promise<Artifact | undefined>;
  /** All references of a thread with their meta, without content, oldest first. */
  list(
    thread: string,
  ): AsyncIterable<{ readonly ref: string; readonly meta: ArtifactMeta; readonly chars: number }>;
}
