import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { errorOf, readServerTiming } from './response.ts';
import type { CallResponse, HttpCall, LoadCase } from './suite.ts';

/** A call with the API key of its account. */
export interface KeyedCall extends HttpCall {
  key: string;
}

/** The end of one call. Times are those of `performance.now()`. */
export interface CallEnd {
  /** `unanswered`: no complete answer came before the call was given up. */
  end: 'right' | 'wrong' | 'unanswered';
  /** The error by code and reason; empty for a right answer. */
  error: string;
  dueMs: number;
  sentMs: number;
  endMs: number;
  /** Size of the body. */
  bytes: number;
  /** The answer's Server-Timing, in milliseconds by part. */
  timing: Record<string, number>;
  /** Time after which the service allows the call again; null if the answer names none. */
  retryAfterMs: number | null;
}

/** One call and its answer, if there was a complete one. */
interface Exchange {
  ending: Pick<CallEnd, 'end' | 'error'>;
  answer: CallResponse | undefined;
}

/** Time after which a call without a complete answer is given up, in milliseconds. */
const TIMEOUT_MS = 120_000;

/**
 * Sends the calls of one case over keep-alive connections, as many as are needed. Each call ends exactly once. No call
 * is resent automatically: if the service closes the connection during a call, the call counts as unanswered.
 */
export class Sender {
  readonly #url: string;
  readonly #begin: typeof httpRequest;
  readonly #agent: HttpAgent;
  /** Functions that give up the calls in flight. */
  readonly #inFlight = new Set<() => void>();

  /** @param url of the instance, without a slash at the end. */
  constructor(url: string, { keepAlive = true }: Pick<LoadCase, 'keepAlive'> = {}) {
    const isTls = url.startsWith('https:');
    const options = { keepAlive, maxSockets: Number.POSITIVE_INFINITY };
    this.#url = url;
    this.#begin = isTls ? httpsRequest : httpRequest;
    this.#agent = isTls ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /**
   * Sends a call, and the calls that follow it (see `LoadCase.follow`). Resolves with the end of the last one, and
   * never rejects.
   * @param dueMs when the call should have been sent, by `performance.now()`.
   * @throws Error at once if the call cannot be written as HTTP, such as a header of two lines.
   */
  send(call: KeyedCall, dueMs: number, loadCase: LoadCase): Promise<CallEnd> {
    const sentMs = performance.now();
    return this.#followCalls(this.#exchange(call, loadCase), call, loadCase).then(({ ending, answer }) => ({
      ...ending,
      dueMs,
      sentMs,
      endMs: performance.now(),
      ...responseFactsOf(answer),
    }));
  }

  async #followCalls(first: Promise<Exchange>, call: KeyedCall, loadCase: LoadCase): Promise<Exchange> {
    let exchange = await first;
    for (;;) {
      const { ending, answer } = exchange;
      if (ending.end !== 'right' || answer === undefined) return exchange;
      const next = loadCase.follow?.(answer) ?? null;
      if (next === null) return exchange;
      exchange = await this.#exchange({ ...next, key: call.key }, loadCase);
    }
  }

  #exchange(call: KeyedCall, loadCase: LoadCase): Promise<Exchange> {
    const outgoing = this.#open(call);
    return new Promise((resolve) => {
      const giveUp = () => finish({ end: 'unanswered', error: 'unanswered' });
      const timer = setTimeout(giveUp, TIMEOUT_MS);
      this.#inFlight.add(giveUp);

      const finish = (ending: Exchange['ending'], answer?: CallResponse) => {
        if (!this.#inFlight.delete(giveUp)) return;
        clearTimeout(timer);
        resolve({ ending, answer });
        if (ending.end === 'unanswered') outgoing.destroy();
      };
      const fail = (error: string) => finish({ end: 'wrong', error });

      outgoing.on('error', (error) => fail(connectionError(error)));
      outgoing.on('response', (incoming) =>
        readAnswer(incoming, {
          onAnswer: (answer) => {
            const error = judgeResponse(answer, call, loadCase);
            finish({ end: error === null ? 'right' : 'wrong', error: error ?? '' }, answer);
          },
          onTruncated: () => fail('truncated answer'),
        }),
      );
      sendBody(outgoing, call.body, loadCase.uploadBytesPerSecond);
    });
  }

  #open({ method, path, headers, body, key }: KeyedCall): ClientRequest {
    const sent = { authorization: `ApiKey ${key}`, ...headers, 'content-length': body?.length ?? 0 };
    return this.#begin(`${this.#url}${path}`, { method, agent: this.#agent, headers: sent });
  }

  /** Ends the calls in flight as unanswered. */
  abandon(): void {
    for (const giveUp of [...this.#inFlight]) giveUp();
  }

  /** Closes the connections that are idle. */
  close(): void {
    this.#agent.destroy();
  }
}

/** Time between two pieces of a slow body, in milliseconds. */
const PIECE_INTERVAL_MS = 50;

/** Sends a body at once, or in pieces at the speed of a slow line. */
function sendBody(
  outgoing: ClientRequest,
  body: Buffer | undefined,
  bytesPerSecond: number | undefined,
): void {
  if (body === undefined || bytesPerSecond === undefined) {
    outgoing.end(body);
    return;
  }
  const size = Math.max(1, Math.round((bytesPerSecond * PIECE_INTERVAL_MS) / 1000));
  let at = 0;
  const timer = setInterval(() => {
    outgoing.write(body.subarray(at, at + size));
    at += size;
    if (at >= body.length) outgoing.end();
    if (at >= body.length) clearInterval(timer);
  }, PIECE_INTERVAL_MS);
  outgoing.on('close', () => clearInterval(timer));
}

/** Reads an answer to its end. A body that breaks off emits an error, or just closes. */
function readAnswer(
  incoming: IncomingMessage,
  { onAnswer, onTruncated }: { onAnswer: (answer: CallResponse) => void; onTruncated: () => void },
): void {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () =>
    onAnswer({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks) }),
  );
  incoming.on('error', onTruncated);
  incoming.on('close', () => incoming.complete || onTruncated());
}

/**
 * Runs the case's own check. If the check throws, the suite is at fault: the call is wrong under that name, and the
 * stage goes on.
 */
function judgeResponse(answer: CallResponse, call: HttpCall, loadCase: LoadCase): string | null {
  try {
    return errorOf(answer, call, loadCase);
  } catch (error) {
    return `check threw ${error instanceof Error ? error.message : String(error)}`;
  }
}

function responseFactsOf(
  answer: CallResponse | undefined,
): Pick<CallEnd, 'bytes' | 'timing' | 'retryAfterMs'> {
  const retryAfter = Number(answer?.headers['retry-after'] ?? Number.NaN);
  return {
    bytes: answer?.body.length ?? 0,
    timing: readServerTiming(answer?.headers['server-timing']?.toString()),
    retryAfterMs: Number.isNaN(retryAfter) ? null : retryAfter * 1000,
  };
}

/** Node reports a connection that was closed before any answer as `socket hang up`, with the code of a reset. */
function connectionError({ code, message }: NodeJS.ErrnoException): string {
  if (message === 'socket hang up') return 'connection closed';
  if (code === 'ECONNRESET') return 'connection reset';
  return `connection ${code ?? message}`;
}
