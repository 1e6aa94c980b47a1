import { type DestinationStream, type Logger, pino } from 'pino';
import pretty, { type PrettyOptions } from 'pino-pretty';

/**
 * JSON lines on stdout, readable ones on a terminal. Nothing that carries a secret is ever given to it.
 * @param traceIds adds the ids of the present span to each line.
 */
export function createLog(
  level: string,
  bindings: Record<string, unknown>,
  traceIds?: () => Record<string, unknown>,
): Logger {
  const options = {
    level,
    base: bindings,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: REDACTED,
    ...(traceIds !== undefined && { mixin: traceIds }),
  };
  return process.stdout.isTTY
    ? pino(options, pretty(ON_A_TERMINAL) as unknown as DestinationStream)
    : pino(options);
}

/** One line an entry; an answer reads as its request does. */
const ON_A_TERMINAL: PrettyOptions = {
  sync: true,
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss',
  ignore: 'pid,hostname,method,route,status,durationMs',
  messageFormat({ msg, method, route, status, durationMs }) {
    return method === undefined ? String(msg) : `${method} ${route} ${status} in ${durationMs} ms`;
  },
};

/** A second fence: were a request's headers or a settings object ever logged whole, these stay out. */
const REDACTED = {
  paths: [
    '*.authorization',
    'headers.authorization',
    '*.password',
    'password',
    '*.key',
    '*.token',
    '*.secret',
  ],
  censor: '[redacted]',
};
