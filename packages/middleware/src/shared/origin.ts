import { getConfig } from "@langchain/langgraph";
import { type Clock, type Emit, type EventOrigin, type EventSink, emitter } from "@longhaul/core";

interface ExecutionConfig {
  readonly executionInfo?: { readonly threadId?: string; readonly checkpointNs?: string };
  readonly configurable?: { readonly thread_id?: string; readonly checkpoint_ns?: string };
}

/** Thread and namespace of the running node or tool; read from LangGraph's config, the hooks' runtime lacks them. */
export function currentOrigin(clock: Clock, step?: number): EventOrigin {
  const config = currentConfig();
  return {
    time: clock.now(),
    threadId: config.executionInfo?.threadId ?? config.configurable?.thread_id ?? "",
    namespace: config.executionInfo?.checkpointNs ?? config.configurable?.checkpoint_ns ?? "",
    ...(step === undefined ? {} : { step }),
  };
}

/** Emits with the origin of the moment. */
export function currentEmitter(sink: EventSink | undefined, clock: Clock, step?: number): Emit {
  return emitter(sink, () => currentOrigin(clock, step));
}

function currentConfig(): ExecutionConfig {
  try {
    return (getConfig() ?? {}) as ExecutionConfig;
  } catch {
    return {};
  }
}
