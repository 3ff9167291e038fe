/** The context window that a chat model's profile names, in tokens. */
export function profileWindow(model: unknown): number | undefined {
  const found = (model as { profile?: { maxInputTokens?: unknown } } | undefined)?.profile?.maxInputTokens;
  return typeof found === "number" && found > 0 ? found : undefined;
}

/** The name by which a chat model is priced. */
export function modelNameOf(model: unknown): string | undefined {
  const { model: name, modelName } = (model ?? {}) as { model?: unknown; modelName?: unknown };
  return [name, modelName].find((value): value is string => typeof value === "string");
}
