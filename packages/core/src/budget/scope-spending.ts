import type { Admission, AdmissionRule, Wanted } from "./budget-ledger.ts";
import type { Settlement } from "./budget-record.ts";
import { type BudgetScope, currentBudgetScope } from "./budget-scope.ts";

/** A scope and all around it, innermost first: every one of them pays. */
function budgetsAround(scope: BudgetScope): BudgetScope[] {
  const chain = [scope];
  for (let at = scope.parent; at; at = at.parent) {
    // Nested scopes of one run (a tool call in a step) are one budget.
    if (!chain.some(({ key }) => key.thread === at.key.thread && key.run === at.key.run)) chain.push(at);
  }
  return chain;
}

/**
 * Reserves in a scope's budget and in all around it, or in none. `checked: false` for a call that is on its way already.
 * Only the innermost may use its reserve for a closing call: a subagent's last answer is an ordinary call to its parent.
 */
export async function reserveIn(
  scope: BudgetScope,
  wanted: Wanted,
  how: { readonly checked: boolean; readonly closing?: boolean; readonly keep?: AdmissionRule["keep"] },
): Promise<Admission> {
  const chain = budgetsAround(scope);
  let first: Admission | undefined;
  for (const [index, { ledger, key, budget }] of chain.entries()) {
    const own = index === 0 ? { closing: how.closing, keep: how.keep } : {};
    const rule: AdmissionRule | undefined = how.checked ? { budget, ...own } : undefined;
    const admission = await ledger.reserve(key, wanted, rule);
    if (!admission.ok) {
      for (const taken of chain.slice(0, index)) await taken.ledger.release(taken.key, wanted.id);
      return admission;
    }
    first ??= admission;
  }
  return first as Admission;
}

/** Books a call in a scope's budget and in all around it. */
export async function settleIn(scope: BudgetScope, id: string, call: Settlement): Promise<void> {
  for (const { ledger, key } of budgetsAround(scope)) await ledger.settle(key, id, call);
}

export async function releaseIn(scope: BudgetScope, id: string): Promise<void> {
  for (const { ledger, key } of budgetsAround(scope)) await ledger.release(key, id);
}

/** Counts a tool call in a scope's budget and in all around it; refused by the first that has none left. */
export async function addToolCallIn(scope: BudgetScope): Promise<Admission> {
  let first: Admission | undefined;
  for (const { ledger, key, budget } of budgetsAround(scope)) {
    const admission = await ledger.addToolCall(key, budget.limits.toolCalls);
    if (!admission.ok) return admission;
    first ??= admission;
  }
  return first as Admission;
}

/**
 * Whether a call of about this size still fits in the budget of the running scope and of all around it, reserve kept. For
 * calls that one may leave out, a summary say: one that does not fit is not started. Always true outside a scope.
 * Cost: one storage read for each budget.
 */
export async function fitsBudget(tokens: number): Promise<boolean> {
  const scope = currentBudgetScope();
  if (!scope) return true;
  for (const { ledger, key, budget } of budgetsAround(scope)) {
    if (!(await ledger.fits(key, { tokens }, { budget }))) return false;
  }
  return true;
}
