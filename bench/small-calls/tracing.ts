import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import sharp from 'sharp';
import { startBenchServer } from '../server.ts';
import { median, round, type SuiteResult, type SuiteRow } from '../suite.ts';
import {
  type CallCost,
  CONNECTIONS,
  measureCall,
  ratios,
  type ServerUnderTest,
  type SmallCall,
} from './call-cost.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 4_000);
const WARM_UP_MS = 2_000;

/**
 * Measures the cost of tracing: one service that sends every span to a receiver on this machine, against one without
 * the setting.
 */
export async function run(): Promise<SuiteResult> {
  using sink = fork(join(import.meta.dirname, 'sink.ts'));
  const [endpoint] = (await once(sink, 'message')) as [string];
  await using on = await startBenchServer({ PROCESSES: '1', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  await using off = await startBenchServer({ PROCESSES: '1', OTEL_EXPORTER_OTLP_ENDPOINT: '' });
  const rows: SuiteRow[] = [];
  for (const call of await readCalls(on.key)) rows.push(await measure(call, on, off));
  sink.send('how much');
  const [receivedBytes] = (await once(sink, 'message')) as [number];
  if (receivedBytes === 0) throw new Error('No span arrived: tracing was off on both sides.');
  console.table(rows);
  const method = `Median of ${ROUNDS} rounds of ${ROUND_MS} ms each, ${CONNECTIONS} connections, one API process per side, in turn. CPU is that of every process of the service; the receiver's own is not in it.`;
  return { method, rows };
}

/** A call that does almost nothing, and one that makes a picture. */
async function readCalls(key: string): Promise<SmallCall[]> {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const create = { width: 200, height: 200, channels: 3, background: '#888', noise } as const;
  const authorization = `ApiKey ${key}`;
  return [
    { path: '/api/v1/credits', headers: { authorization } },
    {
      path: '/api/v1/images/transform?op=resize&width=100',
      headers: { authorization, 'content-type': 'image/jpeg' },
      body: await sharp({ create }).jpeg().toBuffer(),
    },
  ];
}

async function measure(call: SmallCall, on: ServerUnderTest, off: ServerUnderTest): Promise<SuiteRow> {
  const traced: CallCost[] = [];
  const plain: CallCost[] = [];
  for (const side of [on, off]) await measureCall(side, call, WARM_UP_MS);
  for (let turn = 0; turn < ROUNDS; turn += 1) {
    // The sides take turns to be first.
    for (const side of turn % 2 === 0 ? [off, on] : [on, off])
      (side === on ? traced : plain).push(await measureCall(side, call, ROUND_MS));
  }
  const costs = (shots: readonly CallCost[]) => shots.map(({ cpuMsEach }) => cpuMsEach);
  const more = costs(traced).map((cost, turn) => cost - (costs(plain)[turn] ?? Number.NaN));
  return {
    call: `${call.body === undefined ? 'GET' : 'POST'} ${call.path}`,
    'CPU ms traced': round(median(costs(traced)), 3),
    'CPU ms': round(median(costs(plain)), 3),
    'more CPU ms': round(median(more), 3),
    'ratio CPU': round(median(ratios(costs(traced), costs(plain)))),
    'traced/s': round(median(traced.map(({ perSecond }) => perSecond)), 0),
    '/s': round(median(plain.map(({ perSecond }) => perSecond)), 0),
  };
}
