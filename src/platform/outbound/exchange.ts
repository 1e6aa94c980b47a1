import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { BlockList, LookupFunction, Socket } from 'node:net';
import { present } from '../names/present.ts';
import { abortionOf, OutboundError, targetRefused, tooSlow } from './errors.ts';
import { watchStatus } from './status-line.ts';
import { isAllowed, type Target } from './target.ts';

export interface Call {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: Uint8Array;
  /** From the connection to the end of the headers. */
  answerTimeoutMs: number;
  /** Ends the call at any time, the body included. */
  signal?: AbortSignal;
}

/** How long one address of several is tried before the next is tried beside it. */
const ADDRESS_ATTEMPT_MS = 1_000;
/** Agents of our own: the global ones keep connections, and may go through a proxy that the environment names. */
const PLAIN_AGENT = new http.Agent({ keepAlive: false, autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS });
const TLS_AGENT = new https.Agent({
  keepAlive: false,
  autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  maxCachedSessions: 0,
  rejectUnauthorized: true,
});

/** Node reports a 101 as an upgrade, or as an answer where it names no protocol. */
const SWITCHING_PROTOCOLS = 101;
/** The headers of an answer, in bytes; Node's own default, said here because a peer decides how many it sends. */
const MOST_HEADER_BYTES = 16 * 1024;
/** Interim answers (1xx) before the final one. A server sends one or two; a flood of them is no answer. */
const MOST_INTERIM_ANSWERS = 16;

/**
 * Codes of node:tls and OpenSSL: the name, the date or the issuer of a certificate is not accepted, or no TLS is
 * spoken.
 */
const TLS_CODES = /CERT|TLS|SSL|UNABLE_TO|SELF_SIGNED|HOSTNAME/;

/**
 * One HTTP/1.1 exchange with a vetted target, up to its headers; the body stays with the caller, who destroys what it
 * does not read. The vetted addresses are dialled, Host and TLS name are those of the URL; no redirect is followed, no
 * proxy of the environment is asked and no connection is kept. Whatever the peer does, it ends within the two timeouts.
 * @throws OutboundError; the signal's reason when the caller aborted.
 */
export function exchange(target: Target, call: Call, allowed: BlockList): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const client = open(target, call);
  let begun: () => number | undefined = () => undefined;
  let timer = setTimeout(() => client.destroy(tooSlow('to connect')), target.connectByMs - performance.now());
  const fail = (error: unknown) => {
    clearTimeout(timer);
    reject(faultOf(error, call.signal, begun()));
  };
  client.once('socket', (socket) => {
    socket.prependOnceListener('connect', () => checkPeer(client, socket, allowed));
    begun = watchStatus(socket);
    socket.once(target.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      timer = setTimeout(() => client.destroy(tooSlow('to answer', begun())), call.answerTimeoutMs);
    });
  });
  client.once('response', (response) => {
    clearTimeout(timer);
    if (response.statusCode === SWITCHING_PROTOCOLS) client.destroy(protocolSwitched());
    else resolve(response);
  });
  refuseOtherAnswers(client);
  client.on('error', fail);
  // The last word of every exchange. Nothing happens after an answer or an error.
  client.once('close', () =>
    fail(new OutboundError('connection', 'connection failed: it was closed without an answer')),
  );
  client.end(call.body);
  return promise;
}

/**
 * Destroys a call whose peer sends something in place of an answer: a switch of protocols (101), or interim answers
 * without end. The call's error is then an OutboundError.
 */
export function refuseOtherAnswers(client: ClientRequest): void {
  client.once('upgrade', (_response, socket) => {
    socket.destroy();
    client.destroy(protocolSwitched());
  });
  let interimAnswers = 0;
  client.on('information', () => {
    interimAnswers += 1;
    if (interimAnswers <= MOST_INTERIM_ANSWERS) return;
    client.destroy(new OutboundError('connection', 'connection failed: it sent interim answers without end'));
  });
}

function protocolSwitched(): OutboundError {
  return new OutboundError('connection', 'connection failed: it switched protocols (HTTP 101)');
}

/** The meaning of an error of a socket, a parser or a signal, also while the body is read. */
export function faultOf(error: unknown, signal?: AbortSignal, status?: number): unknown {
  if (signal?.aborted) return abortionOf(signal, 'to send its answer');
  if (error instanceof OutboundError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  if (code === undefined) return error;
  if (TLS_CODES.test(code)) return targetRefused(`its certificate is not accepted (${code})`, error);
  return new OutboundError('connection', `connection failed: ${code}`, { status, cause: error });
}

/** Node tries the addresses in turn and never asks for the name: `lookup` answers what was vetted. */
function open({ url, addresses }: Target, { method, headers, signal }: Call): ClientRequest {
  const [first] = addresses;
  const lookup: LookupFunction = (_hostname, { all }, answer) => {
    if (all) answer(null, [...addresses]);
    else answer(null, first?.address ?? '', first?.family);
  };
  const options = {
    method,
    headers,
    lookup,
    maxHeaderSize: MOST_HEADER_BYTES,
    ...present({ signal }),
  };
  return url.protocol === 'https:'
    ? https.request(url, { ...options, agent: TLS_AGENT })
    : http.request(url, { ...options, agent: PLAIN_AGENT });
}

/** Before a byte is sent: the peer must be an address that may be called. */
function checkPeer(client: ClientRequest, socket: Socket, allowed: BlockList): void {
  if (!isAllowed(socket.remoteAddress ?? '', allowed)) {
    client.destroy(targetRefused('the connected address is not public'));
  }
}
