import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ChildLoggerOptions, Level, Logger } from 'pino';
import { announcedBytes } from '../bodies/streamed-body.ts';
import { recordedErrorOf, summarisedReasonOf } from '../errors/failures.ts';
import { textWithoutSecrets } from '../redaction.ts';

const WELL_FORMED_REQUEST_ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's X-Request-Id if it is well-formed, otherwise a new UUID. Fastify calls it as `genReqId`. */
export function chooseRequestId(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && WELL_FORMED_REQUEST_ID_PATTERN.test(sent) ? sent : randomUUID();
}

/** Adds the request id to every response, including refusals before authentication. */
export function installRequestIds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
}

type LogLine = [object: unknown, message?: string, ...values: unknown[]];

/**
 * The logger of the server and of each request. The logger of a request adds the id of the request to every line. The
 * pino logger is created with the first line, because most requests write none, and creating it costs as much as all
 * hooks of a small call.
 */
export class RequestLog implements FastifyBaseLogger {
  readonly #create: () => FastifyBaseLogger;
  #created: FastifyBaseLogger | null = null;

  constructor(create: () => FastifyBaseLogger) {
    this.#create = create;
  }

  get level(): string {
    return this.#log.level;
  }

  set level(level: string) {
    this.#log.level = level;
  }

  fatal(...line: LogLine): void {
    this.#log.fatal(...line);
  }

  error(...line: LogLine): void {
    this.#log.error(...line);
  }

  warn(...line: LogLine): void {
    this.#log.warn(...line);
  }

  info(...line: LogLine): void {
    this.#log.info(...line);
  }

  debug(...line: LogLine): void {
    this.#log.debug(...line);
  }

  trace(...line: LogLine): void {
    this.#log.trace(...line);
  }

  silent(...line: LogLine): void {
    this.#log.silent(...line);
  }

  child(bindings: Record<string, unknown>, options: ChildLoggerOptions = {}): FastifyBaseLogger {
    return new RequestLog(() => this.#log.child(bindings, options));
  }

  get #log(): FastifyBaseLogger {
    this.#created ??= this.#create();
    return this.#created;
  }
}

/** Probes, which monitoring systems call every few seconds. */
const PROBE_PATHS = ['/healthz', '/readyz', '/metrics'];

/**
 * Writes one log line per response: the route, the op and its size parameters, the status, the duration, and the reason
 * of a refusal. The value of a header is never logged. Probes and refusals that are summarised are logged at debug
 * level.
 * @param log the logger of the server. It is used directly, because a child logger per request costs more than the
 * line.
 */
export function installAccessLog(app: FastifyInstance, log: Logger): void {
  app.addHook('onResponse', (request, reply, done) => {
    // The most severe possible level is checked first, because Fastify copies the options of the route at each access.
    const highest: Level = reply.statusCode >= 500 ? 'error' : 'info';
    if (log.isLevelEnabled(highest)) writeAccessLine(request, reply, highest);
    done();
  });

  function writeAccessLine(request: FastifyRequest, reply: FastifyReply, highest: Level): void {
    const route = request.routeOptions.url ?? null;
    const refusal = recordedErrorOf(request);
    const isSummarised = refusal !== undefined && summarisedReasonOf(refusal) !== undefined;
    const isProbe = highest === 'info' && PROBE_PATHS.includes(route ?? '');
    const level = isSummarised || isProbe ? 'debug' : highest;
    if (log.isLevelEnabled(level)) log[level](accessLogFieldsOf(request, reply, route), 'answered');
  }
}

/** The fields of a query that are logged: numbers and names of the interface. Other fields may hold private texts. */
const LOGGED_FIELDS = ['op', 'width', 'height', 'size', 'fit', 'format', 'quality', 'effort'];
const SHORT_WORD_PATTERN = /^[\w.-]{1,16}$/;

/** The op and size of an image call, as a query: `op=resize&width=512`. Undefined for other calls. */
function loggedQueryOf({ query }: FastifyRequest): string | undefined {
  const fields = query as Record<string, unknown>;
  if (typeof fields?.op !== 'string') return undefined;
  return LOGGED_FIELDS.flatMap((name) => {
    const value = fields[name];
    return SHORT_WORD_PATTERN.test(String(value)) && value !== undefined ? `${name}=${value}` : [];
  }).join('&');
}

function accessLogFieldsOf(request: FastifyRequest, reply: FastifyReply, route: string | null) {
  const refusal = recordedErrorOf(request);
  return {
    requestId: request.id,
    method: request.method,
    route,
    status: reply.statusCode,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    query: loggedQueryOf(request),
    requestBytes: announcedBytes(request) ?? undefined,
    code: refusal?.code,
    // The name of a refused field may be a secret that the caller sent in the wrong place.
    param: refusal?.param && textWithoutSecrets(refusal.param),
    reason: refusal?.details?.reason,
    cause: refusal?.cause instanceof Error ? refusal.cause.message : undefined,
  };
}
