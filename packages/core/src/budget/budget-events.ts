/** Events of this concern. */
export type BudgetEvent = { readonly type: "budget.level"; readonly detail: string };
