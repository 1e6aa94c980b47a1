/** The attributes of a span; never an account's data, a prompt or a credential. */
type SpanAttributes = Record<string, string | number | boolean>;

/** An ended part of a span. Times are milliseconds before now. */
export interface SpanPart {
  name: string;
  startedAgoMs: number;
  endedAgoMs: number;
  attributes?: SpanAttributes;
}

/** The span of a request, from its first byte to the end of its response. */
export interface RequestSpan {
  end(attributes: SpanAttributes, failed: boolean): void;
}

/** Creates the spans of the service. If tracing is off, no library is loaded, and each method returns at once. */
export interface Tracing {
  isOn: boolean;
  /**
   * Begins the span of a request as a child of the caller's `traceparent`, and runs `next` within it: everything that
   * `next` starts belongs to the request.
   */
  request(traceparent: string | undefined, attributes: SpanAttributes, next: () => void): RequestSpan;
  /** Runs work in a span below the current one; without a current span, it begins a trace. */
  span<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
  /** Runs background work in its own trace, because it is not part of the call that triggered it. */
  trace<T>(name: string, attributes: SpanAttributes, work: () => Promise<T>): Promise<T>;
  /** Adds ended parts to the current span. */
  parts(parts: readonly SpanPart[]): void;
  /** The headers that propagate the current trace: `traceparent`, and `tracestate` if there is one. */
  headers(): Record<string, string>;
  /** The ids of the current span, for the log. */
  ids(): { trace_id: string; span_id: string } | Record<string, never>;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

const NO_SPAN: RequestSpan = { end: () => undefined };

export const disabledTracing: Tracing = {
  isOn: false,
  request(_traceparent, _attributes, next) {
    next();
    return NO_SPAN;
  },
  span: (_name, _attributes, work) => work(),
  trace: (_name, _attributes, work) => work(),
  parts: () => undefined,
  headers: () => ({}),
  ids: () => ({}),
  close: async () => undefined,
};

/** The log for parts of the service that write log lines themselves. */
export interface EventLog {
  warn(context: object, message: string): void;
  /** Logs a decision, for an operator who investigates. A test's log may lack this method. */
  debug?(context: object, message: string): void;
}
