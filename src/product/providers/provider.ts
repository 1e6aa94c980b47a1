import type { ModelCategory } from '../models/models.ts';

/** A picture for a model: JPEG, PNG or WebP, upright, and no larger than the model accepts. */
export interface ModelPicture {
  bytes: Uint8Array<ArrayBuffer>;
  mimeType: 'image/jpeg' | 'image/png' | 'image/webp';
  width: number;
  height: number;
}

/** What a model is asked to do in one attempt at an item. */
export interface ModelTask {
  op: ModelCategory;
  /** The prompt with its subjects expanded. */
  prompt?: string;
  /** The parameters as the caller sent them. */
  parameters: Readonly<Record<string, unknown>>;
  /** The JSON Schema of the answer; only analyze has one. */
  schema?: Readonly<Record<string, unknown>>;
  /** The index of the item in its job, from 0. */
  itemIndex: number;
  /** The number of this attempt of the item, from 1. */
  attempt: number;
}

/** One attempt of one item, ready to be sent. Its parameters include defaults for those that determine the price. */
export interface ModelRequest extends ModelTask {
  providerModel: string;
  /** The names of this model's inputs, for providers whose models differ in them. */
  fields: Readonly<Record<string, string>>;
  /** The item's picture, if it has one, followed by the reference pictures. */
  pictures: readonly ModelPicture[];
}

/**
 * The parameters that are sent to a provider under the names that the caller used.
 * @param reserved the names of parameters that the service sets itself.
 */
export function parametersForProvider(
  { parameters }: ModelTask,
  reserved: readonly string[],
): Record<string, unknown> {
  const sent = Object.entries(parameters).filter(
    ([name, value]) => !reserved.includes(name) && value !== null,
  );
  return Object.fromEntries(sent);
}

export interface ProviderCall {
  accountId: string;
  /** Aborts at the deadline of the attempt, and when this process gives up the item, for example because it stops. */
  signal: AbortSignal;
  /** The id of the request that an earlier owner of the item submitted, at a provider whose requests can be resumed. */
  requestId?: string;
  /**
   * Stores the id of a request, at a provider whose requests can be resumed. It is awaited before the result is polled,
   * and rejects when the item has got another owner in the meantime.
   */
  keep(requestId: string): Promise<void>;
}

/** The unchecked result of a model. */
export type RawModelAnswer =
  | { kind: 'image'; bytes: Uint8Array<ArrayBuffer> }
  | { kind: 'json'; value: unknown };

/** The client of one provider's API. It throws ProviderError for everything except an answer. */
export interface Provider {
  run(request: ModelRequest, context: ProviderCall): Promise<RawModelAnswer>;
  close?(): Promise<void>;
}

/** A failed call of a provider. The message contains no key and may be shown to the caller. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /**
   * `rejected`: the provider will never accept this input. `unavailable`: a later attempt may succeed. `misconfigured`:
   * the operator must correct the configuration.
   */
  readonly errorClass: 'rejected' | 'unavailable' | 'misconfigured';
  /** The Retry-After of the provider, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(errorClass: ProviderError['errorClass'], message: string, retryAfterMs?: number) {
    super(message);
    this.errorClass = errorClass;
    this.retryAfterMs = retryAfterMs;
  }
}

export const rejectedFault = (message: string) => new ProviderError('rejected', message);
export const unavailableFault = (message: string, retryAfterMs?: number) =>
  new ProviderError('unavailable', message, retryAfterMs);
export const providerMisconfiguredFault = (message: string) => new ProviderError('misconfigured', message);

/** A response of a provider whose status is not 2xx. */
interface ProviderRefusal {
  status: number;
  /** The code and the type of its error object, if present. */
  kind: string;
  message: string;
  retryAfterMs?: number | undefined;
}

const CONTENT_POLICY_WORDS = /content|moderation|policy|safety/i;
const CREDENTIAL_WORDS = /api[_ -]?key|auth|credential|token[_ -]?invalid|invalid[_ -]?token/i;
const REJECTED_STATUSES = [400, 413, 422];
const TEMPORARY_STATUSES = [408, 409, 425, 429];

/**
 * Classifies an error response by its cause: the input of the item, a temporary state of the provider, or the
 * configuration of this service.
 */
export function providerErrorFromRefusal(refusal: ProviderRefusal): ProviderError {
  const { status, kind, message, retryAfterMs } = refusal;
  const text = message === '' ? `HTTP ${status}` : message;
  if (TEMPORARY_STATUSES.includes(status) || status >= 500) return unavailableFault(text, retryAfterMs);
  if (status === 403 && CONTENT_POLICY_WORDS.test(kind)) return rejectedFault(text);
  if (status === 400 && CREDENTIAL_WORDS.test(kind)) return providerMisconfiguredFault(text);
  if (REJECTED_STATUSES.includes(status)) return rejectedFault(text);
  return providerMisconfiguredFault(text);
}

const MAX_MESSAGE_CHARACTERS = 500;
/** API keys in the formats of the providers, and credentials after an authorization scheme. */
const SECRET_PATTERN =
  /\b(?:sk|r8|pk|rk)[-_][A-Za-z0-9_*-]{6,}|\bAIza[\w-]{10,}|\b(Bearer|ApiKey|Token)\s+\S+/g;

/**
 * A provider's message in a form that callers may read.
 * @param secrets keys of this service, which are removed.
 */
export function redactSecrets(message: string, secrets: readonly string[]): string {
  const ownSecrets = secrets.filter((secret) => secret !== '');
  const clean = ownSecrets.reduce((text, secret) => text.replaceAll(secret, '[key]'), message);
  return clean.replace(SECRET_PATTERN, '[key]').slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
}
