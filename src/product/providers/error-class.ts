import { misconfigured, type ProviderFault, rejected, unavailable } from './provider.ts';

/** A response of a provider whose status is not 2xx. */
export interface ProviderRefusal {
  status: number;
  /** The code and the type of its error object, if present. */
  kind: string;
  message: string;
  retryAfterMs?: number | undefined;
}

const CONTENT = /content|moderation|policy|safety/i;
const CREDENTIAL = /api[_ -]?key|auth|credential|token[_ -]?invalid|invalid[_ -]?token/i;
const REJECTING = [400, 413, 422];
const PASSING = [408, 409, 425, 429];

/** Classifies a refusal: caused by the item's input, by the provider for now, or by this service's configuration. */
export function faultOf({ status, kind, message, retryAfterMs }: ProviderRefusal): ProviderFault {
  const text = message === '' ? `HTTP ${status}` : message;
  if (PASSING.includes(status) || status >= 500) return unavailable(text, retryAfterMs);
  if (status === 403 && CONTENT.test(kind)) return rejected(text);
  if (status === 400 && CREDENTIAL.test(kind)) return misconfigured(text);
  if (REJECTING.includes(status)) return rejected(text);
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
