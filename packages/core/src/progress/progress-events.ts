/** Events of this concern. */
export type ProgressEvent = { readonly type: "reset.done"; readonly detail: string };
