/** Events of this concern. */
export type RecoveryEvent = { readonly type: "run.resumed"; readonly detail: string };
