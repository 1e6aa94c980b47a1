import type { FastifyBaseLogger } from 'fastify';
import type { ChildLoggerOptions } from 'pino';

type Line = [object: unknown, message?: string, ...values: unknown[]];

/**
 * The logger of the server, and of each request below it, which names the request's id in every line. It is made when a
 * line is written: most requests write none by it, and to make one costs pino as much as all hooks of a small call
 * together.
 */
export class RequestLog implements FastifyBaseLogger {
  readonly #make: () => FastifyBaseLogger;
  #made: FastifyBaseLogger | null = null;

  constructor(make: () => FastifyBaseLogger) {
    this.#make = make;
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
    this.#made ??= this.#make();
    return this.#made;
  }
}
