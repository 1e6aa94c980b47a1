import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { BlockList, LookupFunction, Socket } from 'node:net';
import { limitSmallChunks } from '../http/connection/limits.ts';
import { withoutAbsentFields } from '../values/present.ts';
import { errorOfAbortedSignal, OutboundError, targetRefusedError, tooSlowError } from './errors.ts';
import { isAddressAllowed, type OutboundTarget } from './target.ts';

interface OutboundRequest {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: Uint8Array;
  /** The timeout from the connection to the end of the headers. */
  answerTimeoutMs: number;
  /** Aborts the call at any time, also while its body is read. */
  signal?: AbortSignal;
}

/** How long one of several addresses is tried before the next one is tried as well. */
const ADDRESS_ATTEMPT_MS = 1_000;
/** Separate agents, because the global ones keep connections and may use a proxy from the environment. */
const HTTP_AGENT = new http.Agent({ keepAlive: false, autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS });
const HTTPS_AGENT = new https.Agent({
  keepAlive: false,
  autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
  maxCachedSessions: 0,
  rejectUnauthorized: true,
});

/** The status of a switch of protocols. Node reports it as an upgrade, or as a response when it names no protocol. */
const SWITCHING_PROTOCOLS_STATUS = 101;
/**
 * The most bytes of a response's headers. This is Node's default; it is set explicitly because the peer is not trusted.
 */
const MAX_RESPONSE_HEADER_BYTES = 16 * 1024;
/** The most interim responses (1xx). A server sends one or two; more are an error. */
const MAX_INTERIM_RESPONSES = 16;

/**
 * Codes of node:tls and OpenSSL: the name, the date or the issuer of a certificate is not accepted, or the peer does
 * not use TLS.
 */
const TLS_ERROR_CODE_PATTERN = /CERT|TLS|SSL|UNABLE_TO|SELF_SIGNED|HOSTNAME/;

/**
 * One HTTP/1.1 exchange with a checked target, up to its headers. The caller reads the body or destroys it. The
 * connection goes to the checked addresses, with the host name of the URL for Host and TLS. Redirects are not followed,
 * proxies of the environment are not used, and the connection is not kept. The exchange always ends within the two
 * timeouts.
 * @throws OutboundError; the signal's reason when the caller aborted.
 */
export function exchangeHttp(
  target: OutboundTarget,
  call: OutboundRequest,
  allowed: BlockList,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const client = openRequest(target, call);
  let statusSoFar: () => number | undefined = () => undefined;
  const leftMs = Math.max(0, target.connectByMs - performance.now());
  let timer = setTimeout(() => client.destroy(tooSlowError('to connect')), leftMs);
  const fail = (error: unknown) => {
    clearTimeout(timer);
    reject(outboundErrorOf(error, call.signal, statusSoFar()));
  };
  client.once('socket', (socket) => {
    socket.prependOnceListener('connect', () => checkPeer(client, socket, allowed));
    statusSoFar = watchStatus(socket);
    socket.once(target.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      timer = setTimeout(
        () => client.destroy(tooSlowError('to answer', statusSoFar())),
        call.answerTimeoutMs,
      );
    });
  });
  client.once('response', (response) => {
    clearTimeout(timer);
    limitSmallChunks(response, smallChunksError());
    if (response.statusCode === SWITCHING_PROTOCOLS_STATUS) client.destroy(protocolSwitchError());
    else resolve(response);
  });
  refuseUnexpectedResponses(client);
  client.on('error', fail);
  // If the connection closes before a response, the exchange fails. After a response or an error, the promise is
  // already settled, so this has no effect.
  client.once('close', () =>
    fail(new OutboundError('connection', 'connection failed: it was closed without an answer')),
  );
  client.end(call.body);
  return promise;
}

/**
 * Destroys a request with an OutboundError when the peer switches protocols (101) or sends too many interim responses.
 */
export function refuseUnexpectedResponses(client: ClientRequest): void {
  client.once('upgrade', (_response, socket) => {
    socket.destroy();
    client.destroy(protocolSwitchError());
  });
  let interimAnswers = 0;
  client.on('information', () => {
    interimAnswers += 1;
    if (interimAnswers <= MAX_INTERIM_RESPONSES) return;
    client.destroy(new OutboundError('connection', 'connection failed: it sent interim answers without end'));
  });
}

function protocolSwitchError(): OutboundError {
  return new OutboundError('connection', 'connection failed: it switched protocols (HTTP 101)');
}

function smallChunksError(): OutboundError {
  return new OutboundError('connection', 'connection failed: it sent its body in too many small chunks');
}

/** Maps an error of a socket, a parser or a signal, also while the body is read. */
export function outboundErrorOf(error: unknown, signal?: AbortSignal, status?: number): unknown {
  if (signal?.aborted) return errorOfAbortedSignal(signal, 'to send its answer');
  if (error instanceof OutboundError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  if (code === undefined) return error;
  if (TLS_ERROR_CODE_PATTERN.test(code))
    return targetRefusedError(`its certificate is not accepted (${code})`, error);
  return new OutboundError('connection', `connection failed: ${code}`, { status, cause: error });
}

/**
 * Opens the request. Node connects to the checked addresses, because `lookup` returns them instead of resolving the
 * name.
 */
function openRequest(
  { url, addresses }: OutboundTarget,
  { method, headers, signal }: OutboundRequest,
): ClientRequest {
  const [first] = addresses;
  const lookup: LookupFunction = (_hostname, { all }, answer) => {
    if (all) answer(null, [...addresses]);
    else answer(null, first?.address ?? '', first?.family);
  };
  const options = {
    method,
    headers,
    lookup,
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    ...withoutAbsentFields({ signal }),
  };
  return url.protocol === 'https:'
    ? https.request(url, { ...options, agent: HTTPS_AGENT })
    : http.request(url, { ...options, agent: HTTP_AGENT });
}

/** Checks the address of the peer before a byte is sent. */
function checkPeer(client: ClientRequest, socket: Socket, allowed: BlockList): void {
  if (isAddressAllowed(socket.remoteAddress ?? '', allowed)) return;
  client.destroy(targetRefusedError('the connected address is not public'));
}

const FINAL_STATUS_LINE_PATTERN = /^HTTP\/1\.[01] ([2-5]\d\d)/;
/** Matches a complete interim response (1xx). Another response follows it. */
const INTERIM_RESPONSE_PATTERN = /^HTTP\/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n/;
/** The most characters that are read for the status line. */
const MAX_STATUS_LINE_CHARACTERS = 16 * 1024;

/**
 * Reads the status of a response from the bytes of the socket, because a peer may never end its headers. The returned
 * function gives the status, or undefined while it is not received. Interim responses (1xx) are skipped.
 */
function watchStatus(socket: Socket): () => number | undefined {
  let head = '';
  let status: number | undefined;
  const read = (chunk: Buffer) => {
    head += chunk.toString('latin1', 0, MAX_STATUS_LINE_CHARACTERS);
    for (
      let interim = INTERIM_RESPONSE_PATTERN.exec(head);
      interim !== null;
      interim = INTERIM_RESPONSE_PATTERN.exec(head)
    ) {
      head = head.slice(interim[0].length);
    }
    const final = FINAL_STATUS_LINE_PATTERN.exec(head);
    if (final !== null) status = Number(final[1]);
    if (final !== null || head.length > MAX_STATUS_LINE_CHARACTERS) socket.off('data', read);
  };
  socket.on('data', read);
  return () => status;
}
