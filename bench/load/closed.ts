import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import type { Call, LoadCase } from './suite.ts';
import { type Outcome, readError, readServerTiming } from './tally.ts';

export interface LoopOptions {
  url: string;
  key: string;
  loadCase: LoadCase;
  next: (turn: number) => Call;
  durationMs: number;
  /** Ends the loop before its time. */
  signal: AbortSignal;
  onOutcome: (outcome: Outcome) => void;
}

/** Seconds without an answer after which autocannon gives up a connection. */
const TIMEOUT_SECONDS = 120;

/** The events of a connection of autocannon. One call is in flight on each, so parts of different answers never mix. */
interface HeardClient {
  on(event: 'headers', listener: (head: { statusCode: number; headers: string[] }) => void): void;
  on(event: 'body', listener: (chunk: Buffer) => void): void;
  on(event: 'response', listener: (status: number, bytes: number, ms: number) => void): void;
}

/**
 * Keeps a number of connections busy with one case, by autocannon. It resolves when the time is over; later answers are
 * not counted.
 */
export async function runClosed(options: LoopOptions & { connections: number }): Promise<void> {
  const { url, key, loadCase, next, connections, durationMs, signal, onOutcome } = options;
  let turn = 0;
  let isOver = false;
  const ended = Promise.withResolvers<void>();
  const shot = autocannon(
    {
      url,
      connections,
      timeout: TIMEOUT_SECONDS,
      // autocannon takes whole seconds only, so the run is stopped explicitly at its end.
      duration: 36_000,
      requests: [{ setupRequest: () => requestOf(next(turn++), key) }],
      setupClient: (client) =>
        listen(client as unknown as HeardClient, loadCase, (outcome) => !isOver && onOutcome(outcome)),
    },
    (error) => (error === null || error === undefined ? ended.resolve() : ended.reject(error)),
  );
  shot.on('reqError', (error: Error) => {
    if (!isOver)
      onOutcome({ status: 0, latencyMs: 0, bytes: 0, error: `connection: ${error.message}`, timing: {} });
  });
  await sleep(durationMs, undefined, { signal }).catch(() => undefined);
  isOver = true;
  shot.stop();
  await ended.promise;
}

function requestOf({ method, path, headers, body }: Call, key: string): autocannon.Request {
  const sent = { authorization: `ApiKey ${key}`, ...headers };
  return { method, path, headers: sent, ...(body !== undefined && { body }) };
}

/** Collects the parts of each answer, and counts it when it has ended. */
function listen(client: HeardClient, loadCase: LoadCase, onOutcome: (outcome: Outcome) => void): void {
  let timing: Record<string, number> = {};
  let refusal = '';
  let status = 0;
  client.on('headers', (head) => {
    status = head.statusCode;
    refusal = '';
    timing = readServerTiming(headerOf(head.headers, 'server-timing'));
  });
  client.on('body', (chunk) => {
    if (status >= 400) refusal += chunk.toString('utf8');
  });
  client.on('response', (answered, bytes, ms) => {
    const isRight = (answered >= 200 && answered < 300) || loadCase.expected?.includes(answered) === true;
    const error = isRight ? null : readError(answered, refusal);
    onOutcome({ status: answered, latencyMs: ms, bytes, error, timing });
  });
}

/** A header from the parser's flat list of names and values. */
function headerOf(flat: readonly string[], name: string): string | undefined {
  const at = flat.findIndex((word, index) => index % 2 === 0 && word.toLowerCase() === name);
  return at === -1 ? undefined : flat[at + 1];
}
