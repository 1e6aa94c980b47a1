import { asConnectionError, foreignResponseError } from './errors.ts';
import type { ListMeta } from './schema.ts';

/** A finding about a call that succeeded. */
export interface Warning {
  code: string;
  /** The subject of the warning: a variable, an asset or a parameter. */
  name?: string;
}

/** A JSON answer with what is in its headers. */
export interface Answer<T> {
  data: T;
  /** Paging facts of a list. */
  meta: ListMeta | undefined;
  status: number;
  requestId: string;
  warnings: Warning[];
  headers: Headers;
}

/**
 * Reads a response that is a success.
 * @throws ConnectionError if the response broke off or has no envelope.
 */
export async function readAnswer<T>(response: Response): Promise<Answer<T>> {
  const { status, headers } = response;
  const text = await response.text().catch((error) => Promise.reject(asConnectionError(error)));
  const { data, meta } =
    text === '' ? { data: undefined as T, meta: undefined } : envelopeIn<T>(text, status);
  const requestId = headers.get('x-request-id') ?? '';
  return { data, meta, status, requestId, warnings: warningsIn(headers), headers };
}

function envelopeIn<T>(text: string, status: number): Pick<Answer<T>, 'data' | 'meta'> {
  try {
    const envelope = JSON.parse(text);
    if (envelope?.success === true) return envelope;
  } catch {
    // A body that is not JSON is not from the service.
  }
  throw foreignResponseError(status);
}

/** The warnings in `X-Service-Warnings`, a comma-separated list of `code` or `code:name`. */
export function warningsIn(headers: Headers): Warning[] {
  const entries = (headers.get('x-service-warnings') ?? '').split(',').filter((entry) => entry !== '');
  return entries.map((entry) => {
    const [code = '', name] = entry.trim().split(':');
    return name === undefined ? { code } : { code, name: decodeURIComponent(name) };
  });
}

/** The milliseconds of `Server-Timing` by name: admit, fetch, queue, decode, process, encode, total. */
export function timingIn(headers: Headers): Record<string, number> {
  const phases = (headers.get('server-timing') ?? '').matchAll(/([\w-]+);dur=([\d.]+)/g);
  return Object.fromEntries(Array.from(phases, ([, name, ms]) => [name, Number(ms)]));
}
