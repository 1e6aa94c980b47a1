import { Darkroom } from '../../src/client/client.ts';
import type { Clock } from '../../src/client/runtime.ts';
import type { ClientOptions } from '../../src/client/transport.ts';

/** A request as the stand-in of the service got it. */
export interface Got {
  method: string;
  /** Path and query. */
  at: string;
  headers: Headers;
  init: RequestInit;
}

/** What the stand-in answers: a response, or what `fetch` throws. */
export type Reply = Response | Error | ((got: Got) => Response | Error | Promise<Response>);

/** A client whose requests get the replies in their order; the last reply is that of all later ones. */
export interface StoodIn {
  client: Darkroom;
  got: Got[];
  /** Milliseconds that the client waited between attempts. */
  waits: number[];
  /** Ends the attempts that are under way by their timeout. */
  expire(): void;
}

/** Longer sleeps are timeouts, which end when they are told to. */
const MIN_TIMEOUT_MS = 100_000;

export function standIn(replies: readonly Reply[], options: ClientOptions = {}): StoodIn {
  const got: Got[] = [];
  const waits: number[] = [];
  const timeouts = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      if (ms < MIN_TIMEOUT_MS) {
        waits.push(ms);
        return;
      }
      await new Promise<void>((resolve, reject) => {
        timeouts.add(resolve);
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    },
  };
  async function fetchInstead(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const { pathname, search } = new URL(String(url));
    const headers = new Headers(init.headers);
    const one = { method: String(init.method), at: pathname + search, headers, init };
    got.push(one);
    const reply = replies[Math.min(got.length, replies.length) - 1];
    const answer = typeof reply === 'function' ? await untilAborted(reply(one), init.signal) : reply;
    if (answer instanceof Response) return answer.clone();
    throw answer;
  }
  const known = { baseUrl: 'http://service.test', key: 'drk_0123456789abcdefghijklmnopqrstuv' };
  const client = new Darkroom({ ...known, fetch: fetchInstead, clock, ...options });
  return { client, got, waits, expire: () => [...timeouts].forEach((end) => void end()) };
}

async function untilAborted<T>(work: T | Promise<T>, signal?: AbortSignal | null): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
  return Promise.race([work, aborted]);
}

/** A success in the envelope. */
export function ok(
  data: unknown,
  { meta, status = 200 }: { meta?: unknown; status?: number } = {},
): Response {
  const headers = { 'x-request-id': 'req-1' };
  return Response.json({ success: true, message: 'Done.', data, meta }, { status, headers });
}

/** A failure in the envelope. */
export function refused(
  status: number,
  error: { code: string; retryable: boolean } & Record<string, unknown>,
  headers: Record<string, string> = {},
): Response {
  const sent = { message: 'It cannot be done.', requestId: 'req-1', ...error };
  return Response.json({ success: false, error: sent }, { status, headers });
}

export const BUSY = { code: 'provider_unavailable', retryable: true };
