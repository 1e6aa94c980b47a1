import { type DestinationStream, type Logger, pino } from 'pino';
import pretty, { type PrettyOptions } from 'pino-pretty';
import { present } from '../../platform/names/present.ts';
import { MEGABYTE } from '../../platform/names/units.ts';

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
    ...present({ mixin: traceIds }),
  };
  return process.stdout.isTTY
    ? pino(options, pretty(ON_A_TERMINAL) as unknown as DestinationStream)
    : pino(options, lines());
}

/** Lines that cannot be written wait up to here; later ones are lost rather than kept in memory. */
const LONGEST_BACKLOG_BYTES = 4 * MEGABYTE;

/** Lines to stdout, which ends no process when it is closed or full. */
function lines(): DestinationStream {
  const stream = pino.destination({ dest: process.stdout.fd, maxLength: LONGEST_BACKLOG_BYTES });
  let isFailing = false;
  stream.on('error', () => {
    isFailing = true;
  });
  stream.on('write', () => {
    isFailing = false;
  });
  // At its end a process writes what waits, and would try for ever where the disk is full.
  const flush = stream.flushSync.bind(stream);
  stream.flushSync = () => {
    if (!isFailing) flush();
  };
  return stream;
}

/** One line per entry; an answer reads as its request does. */
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
