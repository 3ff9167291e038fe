/** Events of this concern. */
export type RunEvent = { readonly type: "run.moved"; readonly detail: string };
