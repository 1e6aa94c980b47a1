import { readFileSync } from 'node:fs';
import type { LoadCase, LoadSuite } from '../load/suite.ts';
import { readPresets } from '../replay/addresses.ts';
import { leftOutOf, type RecordedCall, readRecording } from '../replay/recording.ts';
import { storedTransforms } from './calls.ts';

/** The command `replay` sets these variables, because the loading process imports this suite by itself. */
const { BENCH_REPLAY_LOG = '', BENCH_REPLAY_SPEED = '1', IMGPROXY_PRESETS = '' } = process.env;
const speed = Number(BENCH_REPLAY_SPEED);
const recording = readRecording(readFileSync(BENCH_REPLAY_LOG, 'utf8'), readPresets(IMGPROXY_PRESETS));
const { calls } = recording;
if (calls.length === 0)
  throw new Error(
    `${BENCH_REPLAY_LOG} holds no call that can be replayed: a transform of this service's access log, or an address of imgproxy or thumbor with its time, is expected on each line.${leftOutOf(recording)}`,
  );

/** Calls by the format that they ask for, each with its times. */
const groups = Map.groupBy(calls, ({ query }) => new URLSearchParams(query).get('format') ?? 'same');
const cases = Object.fromEntries([...groups].map(([format, group]) => [format, replayed(format, group)]));
const perSecond = Object.fromEntries(
  [...groups].map(([format, group]) => [format, { atMs: group.map(({ atMs }) => atMs / speed) }]),
);
const lastMs = (calls.at(-1)?.atMs ?? 0) / speed;

function replayed(format: string, group: readonly RecordedCall[]): LoadCase {
  return {
    description: `Calls of the log that ask for ${format === 'same' ? "the picture's own format" : format}.`,
    prepare: (context) => storedTransforms(context, group),
  };
}

const replay: LoadSuite = {
  name: 'replay',
  description: `${calls.length} calls of a log${speed === 1 ? '' : ` at ${speed} times its speed`}.${leftOutOf(recording)}`,
  cases,
  stages: [{ name: 'log', seconds: Math.max(1, Math.ceil(lastMs / 1000)), loop: 'open', perSecond }],
};

export default replay;
