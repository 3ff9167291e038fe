/** Events of this concern. */
export type LoopEvent = { readonly type: "loop.hint"; readonly detail: string };
