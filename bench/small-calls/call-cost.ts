import autocannon from 'autocannon';
import { cpuMs } from '../cpu.ts';

export const CONNECTIONS = 8;

/** A server under test: its URL, and the root of its process tree. */
export interface ServerUnderTest {
  url: string;
  pid: number;
}

export interface SmallCall {
  path: string;
  /** The paths that are requested in turn, instead of `path`. Each connection starts at another one. */
  paths?: readonly string[];
  headers: Record<string, string>;
  /** The body of a POST; without one the call is a GET. */
  body?: Buffer;
}

export interface CallCost {
  perSecond: number;
  /** Milliseconds of CPU that an answer cost all processes of the side. */
  cpuMsEach: number;
}

/**
 * Repeats one call for a duration, in milliseconds.
 * @throws Error when an answer is not 200.
 */
export async function measureCall(
  side: ServerUnderTest,
  { path, paths, headers, body }: SmallCall,
  durationMs: number,
): Promise<CallCost> {
  const url = `${side.url}${path}`;
  const usedMs = cpuMs(side.pid);
  const ended = Promise.withResolvers<autocannon.Result>();
  const sent = body === undefined ? {} : { method: 'POST' as const, body };
  // autocannon takes whole seconds only, so the run is stopped explicitly at its end.
  const inTurn = paths === undefined ? {} : { setupClient: spreadOver(paths, headers) };
  const shot = autocannon(
    { url, headers, ...sent, ...inTurn, connections: CONNECTIONS, duration: 3_600 },
    (error, result) => (error ? ended.reject(error) : ended.resolve(result)),
  );
  const started = performance.now();
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  shot.stop();
  const result = await ended.promise;
  if (result.non2xx > 0)
    throw new Error(`${url} answered ${result.non2xx} times with something else than 200.`);
  return {
    perSecond: (result['2xx'] * 1_000) / (performance.now() - started),
    cpuMsEach: (cpuMs(side.pid) - usedMs) / result['2xx'],
  };
}

/** Gives each connection all of the paths. Each starts far from where the one before it starts. */
function spreadOver(paths: readonly string[], headers: Record<string, string>) {
  let clients = 0;
  return (client: autocannon.Client) => {
    const start = Math.floor((clients * paths.length) / CONNECTIONS);
    clients += 1;
    const own = [...paths.slice(start), ...paths.slice(0, start)];
    client.setRequests(own.map((path) => ({ method: 'GET', path, headers })));
  };
}

/** The ratios of one side to the other, one per round. */
export function ratios(some: readonly number[], others: readonly number[]): number[] {
  return some.map((one, turn) => one / (others[turn] ?? Number.NaN));
}
