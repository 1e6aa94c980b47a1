import type { FastifyBaseLogger } from 'fastify';
import type { ChildLoggerOptions } from 'pino';

type Line = [object: unknown, message?: string, ...values: unknown[]];

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

  fatal(...line: Line): void {
    this.#log.fatal(...line);
  }

  error(...line: Line): void {
    this.#log.error(...line);
  }

  warn(...line: Line): void {
    this.#log.warn(...line);
  }

  info(...line: Line): void {
    this.#log.info(...line);
  }

  debug(...line: Line): void {
    this.#log.debug(...line);
  }

  trace(...line: Line): void {
    this.#log.trace(...line);
  }

  silent(...line: Line): void {
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
