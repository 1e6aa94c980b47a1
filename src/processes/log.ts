import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/** JSON lines on stdout, readable ones on a terminal. Nothing that carries a secret is ever given to it. */
export function createLog(level: string, bindings: Record<string, unknown>): Logger {
  const options = { level, base: bindings, timestamp: pino.stdTimeFunctions.isoTime, redact: REDACTED };
  return process.stdout.isTTY
    ? pino(options, pretty({ ignore: 'pid,hostname', sync: true }) as unknown as DestinationStream)
    : pino(options);
}

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
