import { type DestinationStream, type Logger, pino } from 'pino';
import type { PrettyOptions } from 'pino-pretty';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';

/** The formatter of log lines, which is loaded only for a terminal, because it consists of forty modules. */
const createTerminalStream = process.stdout.isTTY ? (await import('pino-pretty')).default : undefined;

/**
 * Creates the log: JSON lines on stdout, readable lines on a terminal. Secrets must not be passed to it.
 * @param traceIds returns the ids of the current span, which each line includes.
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
    redact: REDACTED_FIELDS,
    ...withoutAbsentFields({ mixin: traceIds }),
  };
  const readable = createTerminalStream?.(TERMINAL_FORMAT) as unknown as DestinationStream | undefined;
  return pino(options, readable ?? createStdoutStream());
}

/** The most bytes of lines that wait to be written; later lines are dropped to save memory. */
const MAX_BACKLOG_BYTES = 4 * MEGABYTE_BYTES;

/** Writes lines to stdout. A closed or full stdout does not end the process. */
function createStdoutStream(): DestinationStream {
  const stream = pino.destination({ dest: process.stdout.fd, maxLength: MAX_BACKLOG_BYTES });
  let isFailing = false;
  stream.on('error', () => {
    isFailing = true;
  });
  stream.on('write', () => {
    isFailing = false;
  });
  // A process flushes its waiting lines before it ends. On a full disk, flushSync would retry for ever.
  const flush = stream.flushSync.bind(stream);
  stream.flushSync = () => {
    if (!isFailing) flush();
  };
  return stream;
}

/** The format of a log entry on a terminal: one line. For a response, it shows the request. */
const TERMINAL_FORMAT: PrettyOptions = {
  sync: true,
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss',
  ignore: 'pid,hostname,method,route,status,durationMs',
  messageFormat({ msg, method, route, status, durationMs }) {
    return method === undefined ? String(msg) : `${method} ${route} ${status} in ${durationMs} ms`;
  },
};

/** The fields that are removed from every line, in case headers or settings are logged by mistake. */
const REDACTED_FIELDS = {
  paths: [
    '*.authorization',
    'headers.authorization',
    '*.cookie',
    'headers.cookie',
    '*.password',
    'password',
    '*.key',
    '*.token',
    '*.secret',
  ],
  censor: '[redacted]',
};
