/** Facts beside a span; never an account's data, a prompt or a credential. */
type Attributes = Record<string, string | number | boolean>;

/** A part of a span that has ended already. Times are milliseconds before now. */
export interface Part {
  name: string;
  startedAgoMs: number;
  endedAgoMs: number;
  attributes?: Attributes;
}

/** One request, from its first byte to the end of its answer. */
export interface RequestSpan {
  end(attributes: Attributes, failed: boolean): void;
}

/** Spans of what the service does. Off, it is this file alone: no library is loaded, and each call returns at once. */
export interface Tracing {
  isOn: boolean;
  /**
   * Begins the span of a request as a child of the caller's `traceparent`, and runs `next` within it: what `next`
   * starts, however late, belongs to the request.
   */
  request(traceparent: string | undefined, attributes: Attributes, next: () => void): RequestSpan;
  /** Runs work in a span of its own, below the present one; without one it begins a trace. */
  span<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>;
  /** Runs work in a trace of its own: what runs beside the calls was woken by some call, and is no part of it. */
  trace<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>;
  /** Adds parts that have ended to the present span. */
  parts(parts: readonly Part[]): void;
  /** Headers that hand the present trace on: `traceparent`, and `tracestate` where there is one. */
  headers(): Record<string, string>;
  /** Ids of the present span, for the log. */
  ids(): { trace_id: string; span_id: string } | Record<string, never>;
  /** Sends what is left. */
  close(): Promise<void>;
}

const ended: RequestSpan = { end: () => undefined };

export const noTracing: Tracing = {
  isOn: false,
  request(_traceparent, _attributes, next) {
    next();
    return ended;
  },
  span: (_name, _attributes, work) => work(),
  trace: (_name, _attributes, work) => work(),
  parts: () => undefined,
  headers: () => ({}),
  ids: () => ({}),
  close: async () => undefined,
};
