import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { ChildLoggerOptions } from 'pino';

const ACCEPTED_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The caller's X-Request-Id when it is well-formed, else a new UUID. For Fastify's `genReqId`. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && ACCEPTED_REQUEST_ID.test(sent) ? sent : randomUUID();
}

/** Adds the request id to every answer, including refusals before authentication. */
export function installRequestIds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
}

type LogLine = [object: unknown, message?: string, ...values: unknown[]];

/**
 * The logger of the server and of each request; that of a request adds its id to every line. The pino logger is created
 * with the first line, because most requests write none, and creating it costs as much as all hooks of a small call.
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
