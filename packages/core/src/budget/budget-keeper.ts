import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isGraphBubbleUp } from "@langchain/langgraph";
import type { Deps } from "../clock.ts";
import { measureMessage, measureMessages } from "../context/token-measure.ts";
import type { Emit } from "../events/event.ts";
import { isAssistant } from "../messages/groups.ts";
import { ActiveTime } from "./active-time.ts";
import { BudgetTooSmallError } from "./budget-errors.ts";
import type { Admission, BudgetKey, BudgetLedger } from "./budget-ledger.ts";
import type { ResolvedBudget } from "./budget-options.ts";
import { budgetRunOf } from "./budget-run.ts";
import { type BudgetScope, currentBudgetScope, newSeenCalls, runInBudgetScope } from "./budget-scope.ts";
import type { BudgetMirror } from "./budget-state.ts";
import { mirrorAfter, planAfterRefusal, planStep, type StepInput, type StepPlan } from "./budget-step.ts";
import { type GraphPlace, GraphRooms } from "./graph-rooms.ts";
import { priceFor, priceOf } from "./price.ts";
import { addToolCallIn, releaseIn, reserveIn, settleIn } from "./scope-spending.ts";
import { callsLeft, isLastCall, type StepRoom, stepsNeeded } from "./step-limit.ts";
import { estimatedUsage, hasUsage, readUsage } from "./usage.ts";

export interface KeeperParts {
  readonly ledger: BudgetLedger;
  readonly budget: ResolvedBudget;
  readonly meter: BaseCallbackHandler;
  readonly deps: Deps;
  /** Supersteps between a final answer and the end of the graph. @default 0 */
  readonly closingSupersteps?: number | undefined;
}

/** One model call of an agent, before it is made. */
export interface ModelCallInput {
  readonly thread: string;
  /** `configurable.longhaul_run`, if any. */
  readonly run?: string | undefined;
  readonly messages: readonly BaseMessage[];
  readonly mirror?: BudgetMirror | undefined;
  readonly place: GraphPlace;
  /** Tokens of what goes along with the messages: system prompt, tool schemas. */
  readonly overheadTokens: number;
  /** Largest request that the model takes. */
  readonly window: number;
  readonly model?: string | undefined;
  readonly agent: string;
  readonly signal?: AbortSignal | undefined;
  readonly emit: Emit;
}

/** One tool call, before it is run. */
export interface ToolCallInput extends Pick<ModelCallInput, "thread" | "run" | "messages" | "emit"> {
  readonly tool: string;
  /** Element key of the call. */
  readonly call: string;
}

/** A model call that was decided on: made as `plan` says, then finished. */
export interface PlannedCall {
  readonly plan: StepPlan;
  readonly scope: BudgetScope;
  readonly room: StepRoom | undefined;
  readonly input: ModelCallInput;
}

/** Output tokens expected of a call before the run has any to go by. */
const EXPECTED_OUTPUT = 500;

/**
 * The procedure around a model or tool call, the same for all faces: opens the run's budget, decides, reserves, runs the
 * call in a scope with the meter on it, and books what is left to book. One per middleware or node.
 */
export class BudgetKeeper {
  readonly #parts: KeeperParts;
  readonly #activity: ActiveTime;
  readonly #rooms = new GraphRooms();

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#activity = new ActiveTime(parts.deps.clock);
  }

  /** @throws BudgetTooSmallError when LangGraph's step limit leaves no room for one step and the closing call */
  async plan(input: ModelCallInput): Promise<PlannedCall> {
    const { ledger, budget, deps } = this.#parts;
    const room = this.#enterRoom(input);
    const scope = this.#scope(input, deps.newId());
    const record = await ledger.open(scope.key);
    const step: StepInput = {
      record,
      budget,
      mirror: input.mirror,
      now: deps.clock.now(),
      lastOfGraph: room !== undefined && isLastCall(room, this.#parts.closingSupersteps),
    };
    let plan = planStep(step);
    while (plan.mode !== "stop") {
      const admission = await this.#reserve(scope, input, step, plan);
      if (admission.ok) break;
      const { limit, wanted, left } = admission;
      if (limit === "concurrency") {
        // Others' calls end, or expire: this one waits its turn.
        await deps.clock.sleep(50 + 50 * deps.random(), { signal: input.signal });
        continue;
      }
      input.emit({ type: "budget.refused", run: scope.key.run, limit, wanted, left });
      plan = planAfterRefusal(step, plan, limit);
    }
    this.#announce(input.emit, scope, plan);
    return { plan, scope, room, input };
  }

  /** Makes the call, in its scope. Time counts until it ends, also when it throws. */
  async call<T>({ scope }: PlannedCall, make: () => PromiseLike<T> | T): Promise<T> {
    this.#activity.enter(scope.key.run);
    try {
      return await runInBudgetScope(scope, this.#parts.meter, make);
    } catch (error) {
      // A call that the meter saw has been settled by it; one that it did not see never reached a model.
      if (!scope.seen.claimed && scope.reservation) await releaseIn(scope, scope.reservation);
      throw error;
    } finally {
      await this.#leave(scope);
    }
  }

  /**
   * Books an answer that is kept, and returns the channel's new value.
   *
   * @param answer what the chain returned; undefined for a report without a call
   * @param modelAnswer false when a guard made the answer and no model was called
   */
  async finish(
    planned: PlannedCall,
    answer: AIMessage | undefined,
    modelAnswer: boolean,
  ): Promise<BudgetMirror> {
    const { ledger, budget, deps } = this.#parts;
    const { scope, plan, room, input } = planned;
    await this.#settleUnseen(planned, answer, modelAnswer);
    const record = await ledger.add(scope.key, { agentSteps: 1 });
    const step: StepInput = { record, budget, mirror: input.mirror, now: deps.clock.now() };
    const turnInput = scope.seen.turnInput ?? input.mirror?.turnInput;
    const mirror = mirrorAfter(step, plan, {
      ...(room ? { superstep: room.superstep, stride: room.stride } : {}),
      ...(turnInput === undefined ? {} : { turnInput }),
    });
    const { inputTokens, outputTokens, cost, activeMs } = record.totals;
    input.emit({
      type: "budget.step",
      run: record.run,
      tokens: inputTokens + outputTokens,
      cost,
      activeMs,
      nearest: mirror.nearest,
      share: mirror.share,
    });
    return mirror;
  }

  /** Counts a tool call and runs it in a scope, or hands the refusal to the caller. */
  async tool<T>(
    input: ToolCallInput,
    run: () => PromiseLike<T> | T,
    refused: (limit: number) => T,
  ): Promise<T> {
    const scope = { ...this.#scope(input, undefined), call: input.call };
    const { emit, tool } = input;
    const report = (outcome: "ok" | "error" | "refused" | "suspended", ms: number) =>
      emit({ type: "tool.call", run: scope.key.run, tool, ms, outcome });
    const admission = await addToolCallIn(scope);
    if (!admission.ok) {
      report("refused", 0);
      return refused(admission.record.totals.toolCalls);
    }
    const { clock } = this.#parts.deps;
    const started = clock.monotonic();
    this.#activity.enter(scope.key.run);
    try {
      const result = await runInBudgetScope(scope, this.#parts.meter, run);
      report("ok", clock.monotonic() - started);
      return result;
    } catch (error) {
      report(isGraphBubbleUp(error) ? "suspended" : "error", clock.monotonic() - started);
      throw error;
    } finally {
      await this.#leave(scope);
    }
  }

  #enterRoom(input: ModelCallInput): StepRoom | undefined {
    const { budget, closingSupersteps: closing } = this.#parts;
    const room = this.#rooms.enter(input.place, input.mirror);
    if (!room?.first) return room;
    const minimum = stepsNeeded(room, closing);
    if (minimum > room.recursionLimit) {
      throw new BudgetTooSmallError({ limit: "recursionLimit", given: room.recursionLimit, minimum });
    }
    const steps = budget.limits.steps ?? budget.limits.modelCalls;
    // A guess on the safe side would be wrong to tell; the plain agent's distance is right for most.
    const fits = callsLeft({ ...room, stride: room.stride ?? 2 }, closing);
    if (steps !== undefined && fits < steps) {
      const needed = minimum + (room.stride ?? 2) * (steps - 2);
      input.emit({
        type: "budget.recursion_limit",
        recursionLimit: room.recursionLimit,
        modelCalls: fits,
        needed,
      });
    }
    return room;
  }

  #scope(
    input: Pick<ModelCallInput, "thread" | "run" | "messages" | "emit">,
    reservation: string | undefined,
  ): BudgetScope {
    const { ledger, budget } = this.#parts;
    const parent = currentBudgetScope();
    return {
      ledger,
      key: parent ? keyWithin(parent) : ownKey(input),
      budget,
      activity: this.#activity,
      emit: input.emit,
      parent,
      seen: newSeenCalls(),
      ...(reservation === undefined ? {} : { reservation }),
    };
  }

  #reserve(scope: BudgetScope, input: ModelCallInput, step: StepInput, plan: StepPlan): Promise<Admission> {
    const { totals } = step.record;
    const output =
      totals.modelCalls > 0 ? Math.ceil(totals.outputTokens / totals.modelCalls) : EXPECTED_OUTPUT;
    const usage = estimatedUsage(expectedInput(input), output);
    const price = priceFor(this.#parts.budget, input.model);
    const size = { tokens: usage.input + usage.output, cost: price ? priceOf(usage, price) : 0 };
    const wanted = { ...size, id: scope.reservation as string, agent: input.agent };
    // The closing call reads the same context again: where that is more than the reserve, it has to be kept too.
    return reserveIn(scope, wanted, { checked: true, closing: plan.mode === "closing", keep: size });
  }

  /** A call that no meter saw (a model that runs no callbacks, an answer out of a cache) is booked by its answer. */
  async #settleUnseen(
    { scope, input, plan }: PlannedCall,
    answer: AIMessage | undefined,
    modelAnswer: boolean,
  ) {
    const id = scope.reservation;
    if (id === undefined || scope.seen.claimed || plan.mode === "stop") return;
    if (!answer || !(modelAnswer || hasUsage(answer))) return releaseIn(scope, id);
    const usage = readUsage(answer, { input: expectedInput(input), output: measureMessage(answer) });
    const price = priceFor(this.#parts.budget, input.model);
    await settleIn(scope, id, {
      usage,
      cost: price ? priceOf(usage, price) : 0,
      kind: "turn",
      agent: input.agent,
      unmeasured: usage.estimated > 0,
    });
    scope.seen.turnInput = usage.input;
  }

  async #leave(scope: BudgetScope): Promise<void> {
    const activeMs = this.#activity.leave(scope.key.run);
    if (activeMs > 0) await this.#parts.ledger.add(scope.key, { activeMs });
  }

  #announce(emit: Emit, scope: BudgetScope, plan: StepPlan): void {
    const { run } = scope.key;
    const { nearest } = plan.position;
    const limit = plan.cause === "step_limit" ? "recursionLimit" : nearest.limit;
    for (const level of plan.crossed) {
      emit({ type: "budget.level", run, level, nearest: limit, share: nearest.share });
    }
    if (plan.phase && plan.phaseBegan) emit({ type: "budget.phase", run, phase: plan.phase.phase });
  }
}

function ownKey(input: Pick<ModelCallInput, "thread" | "run" | "messages">): BudgetKey {
  return { thread: input.thread, run: budgetRunOf(input.thread, input.messages, input.run) };
}

/** A subagent's budget: one for each call of it, the same one after a resume, as the call's key is. */
function keyWithin(parent: BudgetScope): BudgetKey {
  return { thread: parent.key.thread, run: `${parent.key.run}>${parent.call ?? "model"}` };
}

/**
 * Input tokens that the next call will need: what the last turn took and what came since. The whole history is measured
 * only where there was no turn yet; the context concern may send less of it, never more than the window.
 */
function expectedInput(input: ModelCallInput): number {
  const { messages, mirror, overheadTokens, window } = input;
  if (mirror?.turnInput === undefined) {
    return Math.min(window, measureMessages(messages) + overheadTokens);
  }
  const since = messages.slice(messages.findLastIndex(isAssistant));
  return Math.min(window, mirror.turnInput + measureMessages(since));
}
