/** The context window that a chat model's profile names, in tokens. */
export function profileWindow(model: unknown): number | undefined {
  const found = (model as { profile?: { maxInputTokens?: unknown } } | undefined)?.profile?.maxInputTokens;
  return typeof found === "number" && found > 0 ? found : undefined;
}
