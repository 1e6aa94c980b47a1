import { Agent, type IncomingMessage, request } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoopOptions } from './closed.ts';
import type { Call, LoadCase } from './suite.ts';
import { type Outcome, readError, readServerTiming } from './tally.ts';

const TIMEOUT_MS = 120_000;
/** How long answers are awaited after the last call was due. */
const GRACE_MS = 30_000;

export interface OpenLoop {
  /** Number of calls that were refused, waited as long as Retry-After said, and were sent again. */
  retried: number;
  /** Number of those calls that then succeeded. */
  retriedRight: number;
}

/**
 * Sends calls when they are due, at random times with a mean rate (a Poisson process), on as many connections as
 * needed. A latency counts from the time at which its call was due, so it includes the delay by a slow instance or a
 * slow loader. autocannon's own rate waits for a free connection before it sends, and hides that delay.
 */
export async function runOpen(
  options: LoopOptions & { perSecond: number; retries: boolean; random: () => number },
): Promise<OpenLoop> {
  const { perSecond, durationMs, signal, random, next, onOutcome, retries } = options;
  const send = senderOf(options);
  const loop: OpenLoop = { retried: 0, retriedRight: 0 };
  const inFlight = new Set<Promise<void>>();
  const startMs = performance.now();
  let dueMs = startMs;

  async function perform(turn: number, callDueMs: number): Promise<void> {
    const first = await send(next(turn), callDueMs);
    onOutcome(first.outcome);
    if (!retries || first.outcome.error === null || first.retryAfterMs === null) return;
    await sleep(first.retryAfterMs);
    loop.retried += 1;
    const second = await send(next(turn), performance.now());
    if (second.outcome.error === null) loop.retriedRight += 1;
  }

  for (let turn = 0; ; turn += 1) {
    dueMs += (-Math.log(1 - random()) / perSecond) * 1000;
    if (dueMs - startMs > durationMs) break;
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    const call = perform(turn, dueMs).finally(() => inFlight.delete(call));
    inFlight.add(call);
  }
  await Promise.race([Promise.all(inFlight), sleep(GRACE_MS, undefined, { ref: false })]);
  return loop;
}

interface Sent {
  outcome: Outcome;
  retryAfterMs: number | null;
}

function senderOf({ url, key, loadCase }: LoopOptions): (call: Call, dueMs: number) => Promise<Sent> {
  const isTls = url.startsWith('https:');
  const agent = isTls
    ? new TlsAgent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
    : new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const begin = isTls ? tlsRequest : request;
  return ({ method, path, headers, body }, dueMs) =>
    new Promise((resolve) => {
      const fail = (error: Error) =>
        resolve({
          outcome: { status: 0, latencyMs: 0, bytes: 0, error: `connection: ${error.message}`, timing: {} },
          retryAfterMs: null,
        });
      const sent = { authorization: `ApiKey ${key}`, ...headers, 'content-length': body?.length ?? 0 };
      const outgoing = begin(`${url}${path}`, { method, agent, headers: sent, timeout: TIMEOUT_MS });
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer in ${TIMEOUT_MS / 1000} s`)));
      outgoing.on('error', fail);
      outgoing.on('response', (answer) => {
        read(answer, loadCase, dueMs).then(resolve, fail);
      });
      outgoing.end(body);
    });
}

async function read(answer: IncomingMessage, loadCase: LoadCase, dueMs: number): Promise<Sent> {
  const status = answer.statusCode ?? 0;
  const isRight = (status >= 200 && status < 300) || loadCase.expected?.includes(status) === true;
  let bytes = 0;
  let refusal = '';
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (!isRight) refusal += chunk.toString('utf8');
  }
  const retryAfter = Number(answer.headers['retry-after'] ?? Number.NaN);
  return {
    outcome: {
      status,
      latencyMs: performance.now() - dueMs,
      bytes,
      error: isRight ? null : readError(status, refusal),
      timing: readServerTiming(answer.headers['server-timing'] as string | undefined),
    },
    retryAfterMs: Number.isNaN(retryAfter) ? null : retryAfter * 1000,
  };
}
