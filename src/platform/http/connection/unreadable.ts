import { randomUUID } from 'node:crypto';
import {
  type IncomingMessage,
  maxHeaderSize,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, invalidParamError } from '../errors/errors.ts';
import { apiErrorBody, failureHeaders } from '../errors/failures.ts';
import { closeAfterResponse } from './closing.ts';

/** An error of Node's HTTP parser, or of a timeout of a connection. */
interface SocketError extends Error {
  code?: string;
}

/** Refuses a request that cannot be parsed, in the error envelope. It is Fastify's `clientErrorHandler`. */
export function answerUnparsableRequest(error: SocketError, socket: Socket): void {
  const answering = (socket as { _httpMessage?: ServerResponse })._httpMessage;
  // If a response has begun, a second one would be read as a part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || answering?.headersSent) {
    socket.destroy();
    return;
  }
  answerAndClose(socket, refusalOfParserError(error));
}

/**
 * Refuses a request of HTTP/1.1 without a Host header (RFC 9112, 3.2), in the envelope, which Node's own refusal lacks.
 * Two Host headers are refused because a proxy may use the first of them and the service the second.
 */
export function requireOneHostHeader(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw: { rawHeaders, httpVersion } }, _reply, done) => {
    let hosts = 0;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts += 1;
    }
    if (hosts > 1) throw invalidParamError('Host', 'The header Host was sent more than once: send it once.');
    if (hosts === 0 && httpVersion === '1.1')
      throw invalidParamError('Host', 'The header Host is missing: HTTP/1.1 requires it.');
    done();
  });
}

/** Refuses an unsupported Expect header, like any other unreadable request. */
export function refuseExpectHeaders(server: Server): void {
  server.on('checkExpectation', ({ headers, socket }: IncomingMessage) => {
    const message = `"Expect: ${headers.expect}" is not supported here: leave it out.`;
    answerAndClose(socket, invalidParamError('Expect', message));
  });
}

/** Refuses CONNECT requests. Node would close their connection without a response. */
export function refuseConnectRequests(server: Server): void {
  server.on('connect', (_request, socket) => {
    const message = 'CONNECT is not a method of this server, which is not a proxy: call its paths directly.';
    const context = { param: 'request', details: { allowed: [] } };
    answerAndClose(socket as Socket, new ApiError('method_not_allowed', message, context));
  });
}

function refusalOfParserError({ code = '' }: SocketError): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `The path and the headers are over ${maxHeaderSize} bytes together: send fewer or shorter ones.`;
    const context = { param: 'headers', details: { limit: maxHeaderSize } };
    return new ApiError('payload_too_large', message, context);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return invalidParamError('body', 'The request did not arrive in time: send it without pauses.');
  }
  if (code === 'HPE_INVALID_EOF_STATE') {
    return invalidParamError('body', 'The request ended before all of it had arrived: send all of it again.');
  }
  const why = code.startsWith('HPE_') ? ` (${code.slice(4).toLowerCase().replaceAll('_', ' ')})` : '';
  const message = `What was sent is not an HTTP request${why}: the client must send one.`;
  return invalidParamError('request', message);
}

function answerAndClose(socket: Socket, refusal: ApiError): void {
  const requestId = randomUUID();
  const body = JSON.stringify(apiErrorBody(refusal, requestId));
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...Object.entries(failureHeaders(refusal, requestId)).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ];
  closeAfterResponse(socket);
  socket.write(lines.join('\r\n'));
  socket.destroySoon();
}

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * The refusals of paths that cannot be decoded, keyed by the prefix of these paths. Each function makes the error.
     */
    unreadablePaths: Map<string, () => ApiError>;
  }
}

/**
 * Lets the routes below a prefix declare how paths with malformed percent-encoding are refused. Such a path reaches no
 * route and no hook. It is refused with 400 if no prefix of it is declared.
 */
export function decorateWithUnreadablePaths(app: FastifyInstance): void {
  app.decorate('unreadablePaths', new Map());
}

/** Declares how malformed paths below a prefix are refused: in the same way as other wrong paths there. */
export function refuseUnreadablePaths(app: FastifyInstance, prefix: string, refusal: () => ApiError): void {
  app.unreadablePaths.set(prefix, refusal);
}

/** The declared error for the path of a request; undefined if none is declared. */
export function findPathRefusal({ server, url }: FastifyRequest): ApiError | undefined {
  for (const [prefix, refusal] of server.unreadablePaths) if (url.startsWith(prefix)) return refusal();
  return undefined;
}
