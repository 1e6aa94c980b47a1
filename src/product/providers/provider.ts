import type { ModelCategory } from '../models/models.ts';

/** A picture as it goes to a model: JPEG, PNG or WebP, upright, no larger than the model takes. */
export interface Picture {
  bytes: Uint8Array<ArrayBuffer>;
  mimeType: 'image/jpeg' | 'image/png' | 'image/webp';
  width: number;
  height: number;
}

/** One try of one item, ready to be sent. */
export interface ModelRequest {
  op: ModelCategory;
  /** The model's name at its provider. */
  providerModel: string;
  /** This model's names of its inputs, where the provider has none of its own. */
  fields: Readonly<Record<string, string>>;
  prompt?: string;
  /** As sent, with the defaults of the parameters that decide the price. */
  parameters: Readonly<Record<string, unknown>>;
  /** The item's picture first, where it has one, then the references. */
  pictures: readonly Picture[];
  /** JSON Schema of the answer; absent where an image is asked for. */
  schema?: Readonly<Record<string, unknown>>;
  /** Index of the item in its job, from 0. */
  itemIndex: number;
  /** From 1. */
  attempt: number;
}

export interface CallContext {
  /** Aborts at the deadline of the try, when the job is cancelled hard, or when the process stops. */
  signal: AbortSignal;
  /** Id of a request that an earlier owner of the item submitted, where the provider can be asked for it. */
  pickUp?: string;
  /** Keeps the id of a request before it is awaited. Rejects when the item has another owner by now. */
  keep(requestId: string): Promise<void>;
}

/** The unchecked result of a model. Nothing of it is trusted before the check. */
export type RawAnswer = { kind: 'image'; bytes: Uint8Array<ArrayBuffer> } | { kind: 'json'; value: unknown };

/** One way to models: it speaks a provider's interface, and throws ProviderFault for whatever is no answer. */
export interface Provider {
  run(request: ModelRequest, context: CallContext): Promise<RawAnswer>;
  close?(): Promise<void>;
}

export type ErrorClass = 'rejected' | 'unavailable' | 'misconfigured';

/** A call that brought no answer. The message has no key in it and may be shown to the caller. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  /** `rejected`: this input, for good. `unavailable`: may pass. `misconfigured`: for the operator to mend. */
  readonly errorClass: ErrorClass;
  /** When the provider wants to be asked again. */
  readonly retryAfterMs: number | undefined;

  constructor(verdict: ErrorClass, message: string, retryAfterMs?: number) {
    super(message);
    this.errorClass = verdict;
    this.retryAfterMs = retryAfterMs;
  }
}

export const rejected = (message: string) => new ProviderFault('rejected', message);
export const unavailable = (message: string, retryAfterMs?: number) =>
  new ProviderFault('unavailable', message, retryAfterMs);
export const misconfigured = (message: string) => new ProviderFault('misconfigured', message);
