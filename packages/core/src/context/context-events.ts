/** Events of this concern. */
export type ContextEvent = { readonly type: "fold.done"; readonly detail: string };
