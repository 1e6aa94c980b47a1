import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { startBenchServer } from './server.ts';
import { median, type Row, round, type SuiteResult } from './suite.ts';

const CONNECTIONS = 8;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000);

interface Route {
  path: string;
  headers: Record<string, string>;
}

/** What surrounds every call: small answers of one process beside the same answers of bare Fastify, in turn. */
export async function run(): Promise<SuiteResult> {
  const server = await startBenchServer({ PROCESSES: '1' });
  const bare = fork(join(import.meta.dirname, 'bare-fastify.ts'));
  const rows: Row[] = [];
  try {
    const [bareUrl] = (await once(bare, 'message')) as [string];
    const key = { authorization: `ApiKey ${server.key}` };
    const session = { authorization: `Bearer ${await signIn(server.url)}` };
    const routes: Route[] = [
      { path: '/api/v1/credits', headers: key },
      { path: '/api/v1/api-keys', headers: session },
      { path: '/healthz', headers: {} },
    ];
    for (const route of routes) rows.push(await measure(route, server.url, bareUrl));
  } finally {
    bare.kill();
    await server.stop();
  }
  console.table(rows);
  const method = `Median of ${ROUNDS} rounds of ${ROUND_MS} ms each, ${CONNECTIONS} connections: one API process of the service, and bare Fastify with the same answers and schemas, in turn.`;
  return { method, rows };
}

async function measure({ path, headers }: Route, url: string, bareUrl: string): Promise<Row> {
  const ours: number[] = [];
  const plain: number[] = [];
  await shoot(`${url}${path}`, headers, 1_000);
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    plain.push(await shoot(`${bareUrl}${path}`, {}, ROUND_MS));
    ours.push(await shoot(`${url}${path}`, headers, ROUND_MS));
  }
  const ratios = ours.map((perSecond, turn) => perSecond / (plain[turn] ?? Number.NaN));
  return {
    route: `GET ${path}`,
    'service/s': round(median(ours), 0),
    'bare/s': round(median(plain), 0),
    ratio: round(median(ratios)),
  };
}

/** Answers a second. @throws Error when one is not 200. */
async function shoot(url: string, headers: Record<string, string>, durationMs: number): Promise<number> {
  const ended = Promise.withResolvers<autocannon.Result>();
  // Whole seconds only; the run is stopped by hand at its end.
  const shot = autocannon({ url, headers, connections: CONNECTIONS, duration: 3_600 }, (error, result) =>
    error ? ended.reject(error) : ended.resolve(result),
  );
  const started = performance.now();
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  shot.stop();
  const result = await ended.promise;
  if (result.non2xx > 0)
    throw new Error(`${url} answered ${result.non2xx} times with something else than 200.`);
  return (result['2xx'] * 1_000) / (performance.now() - started);
}

async function signIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/v1/auth/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'owner@localhost', password: 'bench-password' }),
  });
  const { data } = (await answer.json()) as { data: { token: string } };
  return data.token;
}
