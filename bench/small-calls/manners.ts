import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { openApi } from '../api.ts';
import { startBenchServer } from '../server.ts';
import { median, round, type SuiteResult, type SuiteRow } from '../suite.ts';
import { type CallCost, CONNECTIONS, measureCall, ratios, type ServerUnderTest } from './call-cost.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000);

interface MeasuredRoute {
  path: string;
  headers: Record<string, string>;
}

/**
 * Measures the overhead of every call: small answers of one process against the same answers of bare Fastify, in turn.
 */
export async function run(): Promise<SuiteResult> {
  await using server = await startBenchServer({ PROCESSES: '1' });
  using bare = fork(join(import.meta.dirname, 'bare-fastify.ts'));
  const rows: SuiteRow[] = [];
  const [bareUrl] = (await once(bare, 'message')) as [string];
  const key = { authorization: `ApiKey ${server.key}` };
  const session = { authorization: `Bearer ${await signIn(server.url)}` };
  const routes: MeasuredRoute[] = [
    { path: '/api/v1/credits', headers: key },
    { path: '/api/v1/api-keys', headers: session },
    { path: '/healthz', headers: {} },
  ];
  const plain = { url: bareUrl, pid: bare.pid ?? 0 };
  for (const route of routes) rows.push(await measure(route, server, plain));
  console.table(rows);
  const method = `Median of ${ROUNDS} rounds of ${ROUND_MS} ms each, ${CONNECTIONS} connections: one API process of the service, and bare Fastify with the same answers and schemas, in turn. CPU is that of every process of the service, next to that of bare Fastify: on a busy machine it is the figure to look at.`;
  return { method, rows };
}

async function measure(
  { path, headers }: MeasuredRoute,
  service: ServerUnderTest,
  bare: ServerUnderTest,
): Promise<SuiteRow> {
  const ours: CallCost[] = [];
  const plain: CallCost[] = [];
  await measureCall(service, { path, headers }, 1_000);
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    plain.push(await measureCall(bare, { path, headers: {} }, ROUND_MS));
    ours.push(await measureCall(service, { path, headers }, ROUND_MS));
  }
  const speeds = (shots: CallCost[]) => shots.map(({ perSecond }) => perSecond);
  const costs = (shots: CallCost[]) => shots.map(({ cpuMsEach }) => cpuMsEach);
  return {
    route: `GET ${path}`,
    'service/s': round(median(speeds(ours)), 0),
    'bare/s': round(median(speeds(plain)), 0),
    ratio: round(median(ratios(speeds(ours), speeds(plain)))),
    'CPU ms': round(median(costs(ours)), 3),
    'bare CPU ms': round(median(costs(plain)), 3),
    'ratio CPU': round(median(ratios(costs(plain), costs(ours)))),
  };
}

async function signIn(url: string): Promise<string> {
  const owner = { email: 'owner@localhost', password: 'bench-password' };
  const { token } = await openApi({ url, key: '' }).post('/auth/sign-in', owner);
  return String(token);
}
