import type { LonghaulEvent } from "./event.ts";

/** How loud an event is, in pino's numbers: 30 info, 40 warn, 50 error. */
export function eventLevel(event: LonghaulEvent): 30 | 40 | 50 {
  if (event.type === "run.moved") return event.to === "FAILED" || event.to === "NEEDS_HUMAN" ? 50 : 30;
  if (event.type === "model.call" || event.type === "tool.call") return event.outcome === "error" ? 40 : 30;
  if (event.type === "budget.level") return event.level === "economy" ? 30 : 40;
  // The other concerns name what went wrong in the last part of the type.
  return LOUD.test(event.type) ? 40 : 30;
}

const LOUD =
  /(?:fail|refus|degrad|damag|unmeasured|unknown|lost|invalid|conflict|stop|block|recursion_limit|overflow|dropped|fork)/;
