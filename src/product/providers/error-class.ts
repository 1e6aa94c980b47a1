import { misconfigured, type ProviderFault, rejected, unavailable } from './provider.ts';

/** A response of a provider whose status is not 2xx. */
export interface ProviderRefusal {
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

/** Classifies a refusal: caused by the item's input, by the provider for now, or by this service's configuration. */
export function faultOf({ status, kind, message, retryAfterMs }: ProviderRefusal): ProviderFault {
  const text = message === '' ? `HTTP ${status}` : message;
  if (TEMPORARY_STATUSES.includes(status) || status >= 500) return unavailable(text, retryAfterMs);
  if (status === 403 && CONTENT_POLICY_WORDS.test(kind)) return rejected(text);
  if (status === 400 && CREDENTIAL_WORDS.test(kind)) return misconfigured(text);
  if (REJECTED_STATUSES.includes(status)) return rejected(text);
  return misconfigured(text);
}

const MAX_MESSAGE_CHARACTERS = 500;
/** API keys in the formats of the providers, and credentials after an authorization scheme. */
const KEYS = /\b(?:sk|r8|pk|rk)[-_][A-Za-z0-9_*-]{6,}|\bAIza[\w-]{10,}|\b(Bearer|ApiKey|Token)\s+\S+/g;

/**
 * The message of a provider in a form that a caller may read.
 * @param secrets keys of this service, which are removed.
 */
export function redacted(message: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== '');
  const clean = known.reduce((text, secret) => text.replaceAll(secret, '[key]'), message);
  return clean.replace(KEYS, '[key]').slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();
}
