// needs: nothing
import t from 'tap';
import { runStage, type StageResult } from '../../bench/load/stage.ts';
import type { LoadCase, Stage } from '../../bench/load/suite.ts';
import { FAULTS, serveFaults, servePaced } from './fault-server.ts';
import { brokenThresholds } from './results.ts';

const loadCase: LoadCase = {
  description: 'A call.',
  prepare: async () => () => ({ method: 'GET', path: '/' }),
};
const cases = { calls: { loadCase, next: () => ({ method: 'GET' as const, path: '/', key: 'k' }) } };

/** Runs a stage of hours, which the test stops when its server has seen enough. */
async function load(loop: Stage['loop'], url: string, stopping: AbortController): Promise<StageResult> {
  const common = { name: 'hours', seconds: 36_000 };
  const stage: Stage =
    loop === 'closed'
      ? { ...common, loop, connections: { calls: 8 } }
      : { ...common, loop, perSecond: { calls: 300 } };
  const rates = { calls: 300 };
  const { signal } = stopping;
  return runStage({ url, stage, rates, round: 0, cases, signal, onProgress: () => undefined });
}

/** The end of a call that meets a fault: its error, or null if it is right all the same. */
const ENDS: Record<keyof typeof FAULTS, { error: string | null; isUnanswered?: true }> = {
  close: { error: 'connection closed' },
  reset: { error: 'connection reset' },
  truncate: { error: 'truncated answer' },
  truncateChunked: { error: 'truncated answer' },
  hang: { error: 'unanswered', isUnanswered: true },
  hangInBody: { error: 'unanswered', isUnanswered: true },
  rotate: { error: null },
  refuse: { error: 'provider_unavailable/capacity' },
  page: { error: 'type text/html' },
};

for (const loop of ['closed', 'open'] as const)
  for (const fault of Object.keys(FAULTS) as Array<keyof typeof FAULTS>)
    t.test(`a ${loop} loop counts every call of a server with the fault ${fault}`, async (t) => {
      const stopping = new AbortController();
      const server = await serveFaults(t, { fault, enough: 5, onEnough: () => stopping.abort() });
      const result = (await load(loop, server.url, stopping)).cases.calls;
      const { error, isUnanswered } = ENDS[fault];
      const faults = server.faults();
      t.match(result, {
        sent: server.received(),
        right: server.received() - (error === null ? 0 : faults),
        wrong: error === null || isUnanswered ? 0 : faults,
        unanswered: isUnanswered ? faults : 0,
      });
      t.same(result?.errors, error === null ? {} : { [error]: faults });
    });

for (const loop of ['closed', 'open'] as const)
  t.test(`a ${loop} stage counts answers after its end as drained, and not as throughput`, async (t) => {
    const stopping = new AbortController();
    const server = await servePaced(t, { enough: 6, onEnough: () => stopping.abort() });
    // The answers begin after the end of the stage, as those of a service that has stalled.
    stopping.signal.addEventListener('abort', () => setTimeout(server.go, 100));
    const result = (await load(loop, server.url, stopping)).cases.calls;
    const received = server.received();
    t.match(result, { sent: received, right: received, drained: received, perSecond: 0, errorShare: 0 });
    t.ok(Number(result?.latencyMs?.p50) > 0, 'their latencies count all the same');
  });

for (const loop of ['closed', 'open'] as const)
  t.test(
    `a ${loop} loop beside a worker of one pace tells its answers inside from those behind`,
    async (t) => {
      const stopping = new AbortController();
      const server = await servePaced(t, { enough: 60, onEnough: () => stopping.abort() });
      server.go();
      const { cases, seconds } = await load(loop, server.url, stopping);
      const { sent = 0, right = 0, drained = 0, perSecond = 0 } = cases.calls ?? {};
      t.equal(sent, server.received());
      t.equal(right, sent);
      const counted = perSecond * seconds;
      // The seconds of the result are rounded to a thousandth.
      t.ok(Math.abs(counted - (right - drained)) <= perSecond * 0.001 + 0.5, `${counted} were counted`);
    },
  );

t.test('a server that never answers has no latency, and breaks every threshold', async (t) => {
  const stopping = new AbortController();
  const server = await servePaced(t, { enough: 5, onEnough: () => stopping.abort() });
  const result = await load('open', server.url, stopping);
  t.match(result.cases.calls, { right: 0, unanswered: server.received(), errorShare: 1, latencyMs: null });
  const threshold = { stage: 'hours', case: 'calls' } as const;
  const broken = brokenThresholds(
    [
      { ...threshold, measure: 'errorShare', atMost: 0 },
      { ...threshold, measure: 'p99', atMost: 100 },
      { ...threshold, measure: 'perSecond', atLeast: 1 },
    ],
    [{ ...result, loader: { ...result.loader, limit: null } }],
  );
  t.match(broken, [/errorShare is 1/, /p99 has no figure: none of \d+ calls/, /perSecond is 0/]);
});

t.test('a call that cannot be written as HTTP ends the stage with its reason', async (t) => {
  const next = () => ({ method: 'GET' as const, path: '/', headers: { 'x-name': 'a\nb' }, key: 'k' });
  for (const loop of ['closed', 'open'] as const)
    await t.rejects(
      runStage({
        url: 'http://127.0.0.1:9',
        stage:
          loop === 'closed'
            ? { name: 's', seconds: 36_000, loop, connections: { calls: 1 } }
            : { name: 's', seconds: 36_000, loop, perSecond: { calls: 300 } },
        rates: { calls: 300 },
        round: 0,
        cases: { calls: { loadCase, next } },
        signal: new AbortController().signal,
        onProgress: () => undefined,
      }),
      /Invalid character/,
    );
});
