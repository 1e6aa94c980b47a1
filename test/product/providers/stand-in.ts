import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Test } from 'tap';
import { serve } from '../../support/loopback.ts';

/** A request as a provider received it. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** What a stand-in does with a request: the status and JSON of its answer, or whatever else it likes. */
export type Behaviour =
  | { status?: number; json: unknown; headers?: Record<string, string> }
  | { status?: number; bytes: Uint8Array; type: string }
  | ((received: Received, response: ServerResponse) => void);

export interface StandIn {
  url: string;
  received: Received[];
  /** Behaviours in order; the last one stays. */
  behave(...behaviours: Behaviour[]): void;
  /** Cuts every connection. */
  hangUp(): void;
}

/** A server on loopback that answers as a provider's reference says, or as badly as a test wants. */
export async function standIn(t: Test): Promise<StandIn> {
  let script: Behaviour[] = [];
  const received: Received[] = [];
  const { url, server } = await serve(t, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url: path = '', headers } = request;
    const call = { method, path, headers, body: Buffer.concat(chunks) };
    received.push(call);
    const behaviour = script.length > 1 ? script.shift() : script[0];
    if (behaviour === undefined) return response.writeHead(500).end();
    if (typeof behaviour === 'function') return behaviour(call, response);
    if ('bytes' in behaviour)
      return response
        .writeHead(behaviour.status ?? 200, { 'content-type': behaviour.type })
        .end(behaviour.bytes);
    const { status = 200, json, headers: more = {} } = behaviour;
    return response
      .writeHead(status, { 'content-type': 'application/json', ...more })
      .end(JSON.stringify(json));
  });
  return {
    url,
    received,
    hangUp: () => server.closeAllConnections(),
    behave: (...behaviours) => {
      script = behaviours;
    },
  };
}

/** What every provider can do wrong, as a table: how it behaves, and what that means for the item. */
export const MISBEHAVIOURS: [string, Behaviour, { code: string; retryAfterMs?: number | undefined }][] = [
  [
    'a refusal of the input',
    { status: 400, json: { error: { message: 'bad size', type: 'invalid_request_error' } } },
    { code: 'provider_rejected', retryAfterMs: undefined },
  ],
  [
    'one that is unprocessable',
    { status: 422, json: { detail: 'no such option' } },
    { code: 'provider_rejected', retryAfterMs: undefined },
  ],
  [
    'one that is too large',
    { status: 413, json: {} },
    { code: 'provider_rejected', retryAfterMs: undefined },
  ],
  [
    'a policy',
    { status: 403, json: { error: { message: 'no', code: 'content_policy_violation' } } },
    { code: 'provider_rejected', retryAfterMs: undefined },
  ],
  [
    'a key that is wrong',
    { status: 401, json: { error: { message: 'Incorrect API key provided: sk-secret-123456' } } },
    { code: 'service_misconfigured', retryAfterMs: undefined },
  ],
  [
    'a key named in a 400',
    {
      status: 400,
      json: { error: { status: 'INVALID_ARGUMENT', message: 'x', details: [{ reason: 'API_KEY_INVALID' }] } },
    },
    { code: 'service_misconfigured', retryAfterMs: undefined },
  ],
  [
    'an unpaid account',
    { status: 402, json: {} },
    { code: 'service_misconfigured', retryAfterMs: undefined },
  ],
  [
    'an unknown model',
    { status: 404, json: { error: { message: 'no such model' } } },
    { code: 'service_misconfigured', retryAfterMs: undefined },
  ],
  [
    'a redirect',
    { status: 307, json: {}, headers: { location: 'http://127.0.0.1:1/' } },
    { code: 'service_misconfigured', retryAfterMs: undefined },
  ],
  ['too many calls', { status: 429, json: {} }, { code: 'provider_unavailable', retryAfterMs: 10_000 }],
  [
    'too many calls, for long',
    { status: 429, json: {}, headers: { 'retry-after': '31' } },
    { code: 'provider_unavailable', retryAfterMs: 31_000 },
  ],
  [
    'too many calls, for too long',
    { status: 429, json: {}, headers: { 'retry-after': '301' } },
    { code: 'provider_unavailable', retryAfterMs: undefined },
  ],
  ['a fault of its own', { status: 500, json: {} }, { code: 'provider_unavailable', retryAfterMs: 10_000 }],
  [
    'a pause',
    { status: 503, json: {}, headers: { 'retry-after': '0' } },
    { code: 'provider_unavailable', retryAfterMs: 10_000 },
  ],
  [
    'a cut connection',
    (_, response) => response.destroy(),
    { code: 'provider_unavailable', retryAfterMs: 10_000 },
  ],
  [
    'an answer cut in the middle',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
      response.write('{"data":[', () => response.destroy());
    },
    { code: 'provider_unavailable', retryAfterMs: 10_000 },
  ],
  [
    'what is no JSON',
    { bytes: Buffer.from('<html>'), type: 'text/html' },
    { code: 'provider_unavailable', retryAfterMs: 10_000 },
  ],
  ['an empty object', { json: {} }, { code: 'provider_unavailable', retryAfterMs: 10_000 }],
  ['a list', { json: [] }, { code: 'provider_unavailable', retryAfterMs: 10_000 }],
  [
    'an answer without end',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = Buffer.alloc(1024 * 1024, 0x20);
      const write = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    },
    { code: 'provider_unavailable', retryAfterMs: 10_000 },
  ],
];
