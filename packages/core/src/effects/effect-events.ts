/** Events of this concern. */
export type EffectEvent = { readonly type: "effect.committed"; readonly detail: string };
