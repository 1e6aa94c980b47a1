import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { refuseOtherAnswers } from '../../platform/outbound/exchange.ts';

/** One request to a provider, as it goes out. */
export interface Dialled {
  method: 'GET' | 'POST';
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
}

/** A provider may close a connection that is idle for longer: a call that went out on it would fail. */
const IDLE_MS = 4_000;
const AGENTS = {
  'http:': new http.Agent({ keepAlive: true, timeout: IDLE_MS }),
  'https:': new https.Agent({ keepAlive: true, timeout: IDLE_MS }),
};

/**
 * One HTTP/1.1 exchange with a host that the operator trusts, up to the headers of its answer; the body stays with the
 * caller, who destroys what it does not read. No redirect is followed, and interim answers are counted: fetch takes
 * these without end.
 * @throws the error of the socket or the parser, with its code; OutboundError for interim answers without end.
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
