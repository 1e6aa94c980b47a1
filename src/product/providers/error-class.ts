import { misconfigured, type ProviderFault, rejected, unavailable } from './provider.ts';

/** A response of a provider whose status is not 2xx. */
export interface Refusal {
  status: number;
  /** Code and type of its error object, as far as it has them. */
  kind: string;
  message: string;
  retryAfterMs?: number | undefined;
}

const CONTENT = /content|moderation|policy|safety/i;
const CREDENTIAL = /api[_ -]?key|auth|credential|token[_ -]?invalid|invalid[_ -]?token/i;
const REJECTING = [400, 413, 422];
const PASSING = [408, 409, 425, 429];

/** The cause of a refusal: the item's input, the provider for now, or this service's configuration. */
export function faultOf({ status, kind, message, retryAfterMs }: Refusal): ProviderFault {
  const told = message === '' ? `HTTP ${status}` : message;
  if (PASSING.includes(status) || status >= 500) return unavailable(told, retryAfterMs);
  if (status === 403 && CONTENT.test(kind)) return rejected(told);
  if (status === 400 && CREDENTIAL.test(kind)) return misconfigured(told);
  if (REJECTING.includes(status)) return rejected(told);
  return misconfigured(told);
}

const LONGEST_MESSAGE_CHARACTERS = 500;
/** Keys as the providers write them, and what follows a scheme of authorization. */
const KEYS = /\b(?:sk|r8|pk|rk)[-_][A-Za-z0-9_*-]{6,}|\bAIza[\w-]{10,}|\b(Bearer|ApiKey|Token)\s+\S+/g;

/**
 * What a provider said, as a caller may read it.
 * @param secrets keys of this service that must not be in it.
 */
export function sayable(message: string, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== '');
  const clean = known.reduce((text, secret) => text.replaceAll(secret, '[key]'), message);
  return clean.replace(KEYS, '[key]').slice(0, LONGEST_MESSAGE_CHARACTERS).toWellFormed();
}
