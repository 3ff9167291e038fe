export { type LoopDetectionOptions, loopDetectionMiddleware } from "./loop-detection-middleware.ts";
export { type ProgressMiddlewareOptions, progressMiddleware } from "./progress-middleware.ts";
