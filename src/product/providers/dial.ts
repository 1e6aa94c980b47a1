import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { refuseOtherAnswers } from '../../platform/outbound/exchange.ts';

/** One HTTP request to a provider. */
export interface Dialled {
  method: 'GET' | 'POST';
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

/**
 * The longest idle time of a connection. A provider may close it later, and a call that was just sent on it would fail.
 */
const IDLE_MS = 4_000;
const AGENTS = {
  'http:': new http.Agent({ keepAlive: true, timeout: IDLE_MS }),
  'https:': new https.Agent({ keepAlive: true, timeout: IDLE_MS }),
};

/**
 * One HTTP/1.1 exchange with a host that the operator trusts, up to the headers of its answer; the caller reads the
 * body or destroys it. Redirects are not followed, and interim responses are limited, which fetch does not do.
 * @throws the error of the socket or the parser, with its code; OutboundError for too many interim responses.
 */
export async function dial(url: URL, call: Dialled, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { method, body } = call;
  const headers = { 'user-agent': 'Darkroom', 'accept-encoding': 'identity', ...call.headers };
  const client =
    url.protocol === 'https:'
      ? https.request(url, { method, headers, signal, agent: AGENTS['https:'] })
      : http.request(url, { method, headers, signal, agent: AGENTS['http:'] });
  refuseOtherAnswers(client);
  client.once('response', resolve);
  client.on('error', reject);
  client.end(body);
  return promise;
}

/** True for a status of 200 to 299. */
export function isOk({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}
