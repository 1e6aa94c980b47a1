import type { PassWarning } from '../../../workers/protocol.ts';
import type { ModelCategory } from '../models/models.ts';

/** A picture for a model: JPEG, PNG or WebP, upright, and within the size that the model accepts. */
export interface ModelPicture {
  bytes: Uint8Array<ArrayBuffer>;
  mimeType: 'image/jpeg' | 'image/png' | 'image/webp';
  width: number;
  height: number;
  /** Warnings about the preparation, such as that the model gets only the first frame of an animation. */
  warnings?: PassWarning[];
}

/** The work of a model in one attempt at an item. */
export interface ModelTask {
  op: ModelCategory;
  /** The prompt, in which descriptors have replaced the mentions of subjects. */
  prompt?: string;
  /** The parameters as the caller sent them. A provider gets no parameter that is null. */
  parameters: Readonly<Record<string, unknown>>;
  /** The JSON Schema of the answer. Only `analyze` has one. */
  schema?: Readonly<Record<string, unknown>>;
  /** The index of the item in its job, from 0. */
  itemIndex: number;
  /** The number of this attempt of the item, from 1. */
  attempt: number;
}

/** One attempt of one item, ready to be sent. Its parameters include the defaults that determine the price. */
export interface ModelRequest extends ModelTask {
  providerModel: string;
  /** The names of the model's inputs, for a provider whose models name them differently. */
  fields: Readonly<Record<string, string>>;
  /** The picture of the item, if it has one, followed by the reference pictures. */
  pictures: readonly ModelPicture[];
}

/**
 * The parameters for a provider, under the names that the caller used.
 * @param reserved the names of parameters that callers cannot send, because the service sets them.
 */
export function parametersForProvider(
  { parameters }: ModelTask,
  reserved: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !reserved.includes(name)));
}

export interface ProviderCall {
  accountId: string;
  /**
   * Aborts at the deadline of the attempt, and when this process gives up the item, for example because it is stopping.
   */
  signal: AbortSignal;
  /**
   * The id of an earlier request for the item, if its earlier owner submitted one. Only some providers can continue a
   * request.
   */
  requestId?: string;
  /**
   * Stores the id of a request at a provider that can continue requests. The call must not poll the result before the
   * promise resolves. The promise rejects when the item has another owner by now.
   */
  keep(requestId: string): Promise<void>;
}

/** A result of a model before it is checked. */
export type RawModelAnswer =
  | { kind: 'image'; bytes: Uint8Array<ArrayBuffer> }
  | { kind: 'json'; value: unknown };

/** The client of one provider's API. Its methods throw ProviderError for everything except an answer. */
export interface Provider {
  run(request: ModelRequest, context: ProviderCall): Promise<RawModelAnswer>;
  close?(): Promise<void>;
}

/** A failed call of a provider. Callers may see the message, because it contains no key. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /**
   * `rejected`: the provider will not accept this input. `unavailable`: a later attempt may succeed. `misconfigured`:
   * the operator must correct the settings.
   */
  readonly errorClass: 'rejected' | 'unavailable' | 'misconfigured';
  /**
   * The time in milliseconds after which the provider may be called again (its Retry-After); undefined if it gives
   * none.
   */
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
export const misconfiguredFault = (message: string) => new ProviderError('misconfigured', message);

/** A response of a provider whose status is not 2xx. */
interface ProviderRefusal {
  status: number;
  /** The code and the type from the error object in the body, if present. */
  kind: string;
  message: string;
  retryAfterMs?: number | undefined;
}

const CONTENT_POLICY_PATTERN = /content|moderation|policy|safety/i;
const CREDENTIAL_PATTERN = /api[_ -]?key|auth|credential|token[_ -]?invalid|invalid[_ -]?token/i;
const REJECTED_STATUSES = [400, 413, 422];
const TEMPORARY_STATUSES = [408, 409, 425, 429];

/**
 * Makes an error of a response that is not 2xx. Its class is the cause: the input of the item, a temporary state of the
 * provider, or the settings of this service.
 */
export function providerErrorFromRefusal(refusal: ProviderRefusal): ProviderError {
  const { status, kind, message, retryAfterMs } = refusal;
  const text = message === '' ? `HTTP ${status}` : message;
  if (TEMPORARY_STATUSES.includes(status) || status >= 500) return unavailableFault(text, retryAfterMs);
  if (status === 403 && CONTENT_POLICY_PATTERN.test(kind)) return rejectedFault(text);
  if (status === 400 && CREDENTIAL_PATTERN.test(kind)) return misconfiguredFault(text);
  if (REJECTED_STATUSES.includes(status)) return rejectedFault(text);
  return misconfiguredFault(text);
}

const MAX_MESSAGE_CHARACTERS = 500;
/** Matches API keys in the formats of the providers, and credentials after an authorization scheme. */
const SECRET_PATTERN =
  /\b(?:sk|r8|pk|rk)[-_][A-Za-z0-9_*-]{6,}|\bAIza[\w-]{10,}|\b(Bearer|ApiKey|Token)\s+\S+/g;

/**
 * Removes secrets from a provider's message, so that callers may read it.
 * @param secrets the keys of this service.
 */
export function redactSecrets(message: string, secrets: readonly string[]): string {
  const ownSecrets = secrets.filter((secret) => secret !== '');
  const clean = ownSecrets.reduce((text, secret) => text.replaceAll(secret, '[key]'), message);
  return clean.replace(SECRET_PATTERN, '[key]').slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
}
