import { setTimeout as pause } from 'node:timers/promises';
import type { Answer as WholeAnswer } from '../../support/harness.ts';

export interface Call {
  method?: string;
  json?: unknown;
  body?: Uint8Array<ArrayBuffer>;
  type?: string;
  idempotencyKey?: string;
  /** Gives up on a first request under the key that died: that holds the key for five minutes. */
  mayStayOpen?: boolean;
}

export type Answer = Pick<WholeAnswer, 'status' | 'json'>;

export type Client = (path: string, call?: Call) => Promise<Answer>;

const PAUSE_MS = 250;
const ATTEMPTS = 1_600;
const ANSWER_MS = 45_000;
/** Answers after which a client repeats its call: too much, too early, or not the fault of the client. */
const isRetried = ({ status, json }: Answer, { mayStayOpen = false }: Call) =>
  status >= 500 || status === 429 || (!mayStayOpen && json?.error?.code === 'request_in_progress');

/**
 * A client that follows the rules of the interface: it repeats calls without an answer, or with one that allows it,
 * under the same Idempotency-Key where they have one.
 * @param url a host that answers now; null when there is none.
 */
export function retryingClient(url: () => string | null, key: string): Client {
  let last = 'nobody listens';

  async function attempt(path: string, call: Call): Promise<Answer | null> {
    const base = url();
    if (base === null) return null;
    const body = call.json === undefined ? call.body : JSON.stringify(call.json);
    const type = call.json === undefined ? call.type : 'application/json';
    const headers = {
      authorization: `ApiKey ${key}`,
      ...(type !== undefined && { 'content-type': type }),
      ...(call.idempotencyKey !== undefined && { 'idempotency-key': call.idempotencyKey }),
    };
    const method = call.method ?? (body === undefined ? 'GET' : 'POST');
    const signal = AbortSignal.timeout(ANSWER_MS);
    try {
      const response = await fetch(`${base}/api/v1${path}`, {
        ...{ method, headers, signal },
        ...(body !== undefined && { body }),
      });
      const text = await response.text();
      const answer = { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
      if (!isRetried(answer, call)) return answer;
      last = `${answer.status} ${text}`;
      return null;
    } catch (error) {
      last = String((error as Error).cause ?? error);
      return null;
    }
  }

  return async (path, call = {}) => {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      const answer = await attempt(path, call);
      if (answer !== null) return answer;
      await pause(PAUSE_MS);
    }
    throw new Error(`${path} was never answered: ${last}`);
  };
}

/** All pages of a listing. */
export async function allPages(client: Client, path: string): Promise<Answer['json'][]> {
  const rows: Answer['json'][] = [];
  const separator = path.includes('?') ? '&' : '?';
  for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page += 1) {
    const next: string = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, json } = await client(`${path}${separator}perPage=100${next}`);
    if (status !== 200) throw new Error(`${path} answered ${status} ${JSON.stringify(json)}`);
    rows.push(...json.data);
    cursor = json.meta.nextCursor ?? undefined;
  }
  return rows;
}
