import type { CrashPoint } from "@longhaul/test-kit";

export const MODES = ["key", "query", "record"] as const;
export type Mode = (typeof MODES)[number];
export const SHAPES = ["single", "parallel", "subagent", "interrupt"] as const;
export type Shape = (typeof SHAPES)[number];
export const DURABILITIES = ["sync", "async", "exit"] as const;
export type Durability = (typeof DURABILITIES)[number];
export const POINTS = ["K1", "K2", "K3", "K4", "K5"] as const satisfies readonly CrashPoint[];

/** One death of one kind of call. */
export interface Cell {
  readonly mode: Mode;
  readonly shape: Shape;
  readonly durability: Durability;
  readonly point: CrashPoint;
  /** Which arrival at the point, from 1. */
  readonly nth: number;
}

/** Calls that a shape has at once, by their orders. */
export function ordersOf(shape: Shape): readonly string[] {
  return shape === "parallel" ? ["O-1", "O-2", "O-3"] : ["O-1"];
}

/** Each kind of call, dying at each arrival at each point. A call that asks a human is claimed twice: before and after the answer. */
export function allCells(given: {
  readonly modes: readonly Mode[];
  readonly shapes: readonly Shape[];
  readonly durabilities: readonly Durability[];
  readonly points: readonly CrashPoint[];
}): Cell[] {
  return given.modes.flatMap((mode) =>
    given.shapes.flatMap((shape) =>
      given.durabilities.flatMap((durability) =>
        given.points.flatMap((point) =>
          arrivals(shape, point).map((nth) => ({ mode, shape, durability, point, nth })),
        ),
      ),
    ),
  );
}

function arrivals(shape: Shape, point: CrashPoint): readonly number[] {
  if (shape === "parallel") return [1, 2, 3];
  return shape === "interrupt" && (point === "K1" || point === "K2") ? [1, 2] : [1];
}

export function nameOf({ mode, shape, durability, point, nth }: Cell): string {
  return `${mode} ${shape} ${durability} ${point}:${nth}`;
}
