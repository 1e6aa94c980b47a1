// needs: nothing
import t from 'tap';
import { LoadHistory, LoadRecorder } from '../../../src/host/operator/history.ts';
import { HostReporter } from '../../../src/host/operator/host-report.ts';
import type { LoadSnapshot } from '../../../src/platform/metrics/load.ts';
import { rowWith } from './rows.ts';

const REQUESTS = 'darkroom_request_duration_seconds';

t.test('an hour of samples is kept as columns, and the oldest make room', async (t) => {
  const history = new LoadHistory();
  for (let sample = 1; sample <= 400; sample += 1)
    history.record(
      sample * 10_000,
      rowWith({ requestsPerSecond: sample, p99: sample % 2 === 0 ? null : 80 }),
    );
  const { at, series } = history.excerptSince();
  t.equal(at.length, 360);
  t.same([at[0], at.at(-1)], [410_000, 4_000_000]);
  t.same([series.rate?.[0], series.rate?.at(-1)], [41, 400]);
  t.same([series.p99?.[0], series.p99?.at(-1)], [80, null], 'a time without answers is a gap');
  t.same(history.excerptSince(3_980_000).at, [3_990_000, 4_000_000], 'only what came later');
  t.same(history.excerptSince(4_000_000).series.rate, []);
});

t.test(
  'a reason of refusals has a series from its first refusal on, and their number is bounded',
  async (t) => {
    const history = new LoadHistory();
    history.record(10_000, rowWith());
    t.equal(history.excerptSince().series['refused/capacity'], undefined);
    history.record(20_000, rowWith({ refusals: { capacity: 2.5 } }));
    history.record(30_000, rowWith());
    t.same(history.excerptSince().series['refused/capacity'], [0, 2.5, 0]);
    for (let reason = 0; reason < 300; reason += 1)
      history.record(40_000 + reason, rowWith({ refusals: { [`reason ${reason}`]: 1 } }));
    t.ok(Object.keys(history.excerptSince().series).length <= 80);
  },
);

t.test('what was done stays on the axis of time for as long as its samples', async (t) => {
  let nowMs = 10_000;
  const history = new LoadHistory();
  const recorder = new LoadRecorder({
    hostId: 'h',
    history,
    readOwn: async () => snapshot(0),
    nowMs: () => nowMs,
  });
  const reporter = new HostReporter({
    ...{ hostId: 'h', history, recorder, hangTimeoutMs: 15_000, nowMs: () => nowMs },
    processes: () => [{ processId: 1, pid: 7, isServing: true, silentMs: 9_000, uptimeSeconds: 60 }],
    settings: () => ({ IMAGE_THREADS: 1 }),
  });
  history.record(nowMs, rowWith());
  reporter.recordMark({ kind: 'set', by: 'anna on host-a, pid 4711', text: 'IMAGE_THREADS 1 → 2' });
  nowMs += 5_000;
  reporter.recordRestart('hung', 2);
  const report = reporter.report(0);
  t.match(report.history.marks, [
    { at: 10_000, kind: 'set', by: 'anna on host-a, pid 4711', text: 'IMAGE_THREADS 1 → 2' },
    { at: 15_000, kind: 'restart', by: '', text: 'Process 2 hung and is replaced' },
  ]);
  t.match(report, { restarts: { hung: 1, exit: 0, signal: 0 }, settings: { IMAGE_THREADS: 1 } });
  t.match(report.verdicts, [{ sentence: /h\/1 hangs/ }, { sentence: /^Process 2 hung .* 0 s ago/ }]);
  t.match(reporter.report(12_000).history.marks, [{ kind: 'restart' }]);
  for (let mark = 0; mark < 500; mark += 1) reporter.recordMark({ kind: 'log', by: 'x', text: `${mark}` });
  t.equal(history.excerptSince().marks.length, 200, 'marks are bounded');
  for (let sample = 1; sample <= 400; sample += 1) history.record(nowMs + sample * 10_000, rowWith());
  t.same(history.excerptSince().marks, [], 'and go with their hour');
});

/** A process that answered so many calls, each in a tenth of a second. */
function snapshot(calls: number): LoadSnapshot {
  return {
    atMs: calls === 0 ? 0 : calls * 100,
    values: {
      [`${REQUESTS}_count`]: calls,
      [`${REQUESTS}_bucket 0.1`]: calls,
      [`${REQUESTS}_bucket +Inf`]: calls,
    },
    accounts: { acc_a: { calls, refused: calls / 2 } },
  };
}

t.test(
  'a sample is the load of all processes since the one before; one that hangs adds nothing',
  async (t) => {
    const history = new LoadHistory();
    let primary = 0;
    const recorder = new LoadRecorder({
      ...{ hostId: 'h', history, nowMs: () => primary * 1_000 },
      readOwn: async () => ({ atMs: primary * 10_000, values: { darkroom_cpu_cores: 2 } }),
    });
    const round = async (...calls: number[]) => {
      primary += 1;
      for (const [index, count] of calls.entries())
        recorder.receive(String(index + 1), { ...snapshot(count), atMs: primary * 10_000 });
      await recorder.sample();
    };
    await round(0, 0);
    t.equal(recorder.currentRow(), null, 'nothing is known of one moment alone');
    await round(100, 50);
    await round(200);
    t.same(history.excerptSince().series.rate, [15, 10], 'the second process was not heard of');
    const now = recorder.currentRow();
    t.match(now, { name: 'h', processes: 2, accounts: [{ id: 'acc_a' }] });
    recorder.forget('2');
    t.equal(recorder.currentRow()?.processes, 1);
    for (let count = 3; count < 9; count += 1) await round(count * 100);
    t.equal(recorder.currentRow()?.requestsPerSecond, 10, 'the row of now spans the latest half minute');
  },
);
