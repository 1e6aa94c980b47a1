import { cpus, totalmem } from 'node:os';
import sharp from 'sharp';
import packageJson from '../../package.json' with { type: 'json' };
import { MEGABYTE_BYTES } from '../../src/platform/values/units.ts';
import type { InstanceFacts } from '../load/instance.ts';
import type { LoadResult } from '../load/run.ts';
import type { LoadSuite, Threshold } from '../load/suite.ts';
import { rounded } from '../load/tally.ts';
import type { InstanceSample } from '../load/watch.ts';
import { commitOf } from '../results.ts';
import { mean } from '../suite.ts';

/** The result of a run as JSON. The HTML page shows only data from it. */
export interface LoadReport extends LoadResult {
  kind: 'load';
  suite: string;
  description: string;
  /** The command line, without its key. */
  command: string;
  at: string;
  host: MeasuredHost;
  /** URL of the instance; null when the bench started it. */
  url: string | null;
  /** The loaded instance, which may be of another version than this bench. */
  instance: InstanceFacts;
  settings: Record<string, string>;
  /** Memory of all processes of the instance together; null if they run elsewhere. */
  memory: MemoryTrend | null;
  thresholds: readonly Threshold[];
  /** A sentence for each threshold that was broken. */
  brokenThresholds: string[];
}

export interface MeasuredHost {
  cores: number;
  cpu: string;
  memoryMegabytes: number;
  platform: string;
  node: string;
  darkroom: string;
  sharp: string;
  libvips: string;
  /** Short name of the commit, with `-dirty` if files were changed; null outside a checkout. */
  commit: string | null;
}

export interface MemoryTrend {
  firstMegabytes: number;
  lastMegabytes: number;
  mostMegabytes: number;
  /** Slope of the straight line through all samples (least squares); null below half an hour, which shows no trend. */
  megabytesPerHour: number | null;
}

const HOUR_SECONDS = 3600;
const MIN_HOURS = 0.5;

export function reportOf(options: {
  suite: LoadSuite;
  command: string;
  result: LoadResult;
  memory: MemoryTrend | null;
  url: string | null;
  instance: InstanceFacts;
  brokenThresholds: string[];
  now: Date;
}): LoadReport {
  const { suite, command, result, memory, url, instance, brokenThresholds, now } = options;
  return {
    kind: 'load',
    suite: suite.name,
    description: suite.description,
    command,
    at: now.toISOString(),
    host: hostFacts(),
    url,
    instance,
    settings: suite.settings ?? {},
    memory,
    thresholds: suite.thresholds ?? [],
    brokenThresholds,
    ...result,
  };
}

export function hostFacts(): MeasuredHost {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryMegabytes: Math.round(totalmem() / MEGABYTE_BYTES),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    darkroom: packageJson.version,
    sharp: sharp.versions.sharp ?? '',
    libvips: sharp.versions.vips ?? '',
    commit: commitOf(),
  };
}

/** The trend of the memory. A run of hours shows whether there is a leak. */
export function memoryTrend(samples: readonly InstanceSample[]): MemoryTrend | null {
  const points = samples
    .filter(({ processes }) => processes.length > 0)
    .map(({ at, processes }) => ({
      hours: at / HOUR_SECONDS,
      megabytes: processes.reduce((sum, { rssBytes }) => sum + rssBytes, 0) / MEGABYTE_BYTES,
    }));
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return null;
  return {
    firstMegabytes: rounded(first.megabytes, 1),
    lastMegabytes: rounded(last.megabytes, 1),
    mostMegabytes: rounded(Math.max(...points.map(({ megabytes }) => megabytes)), 1),
    megabytesPerHour: last.hours - first.hours < MIN_HOURS ? null : rounded(slope(points), 1),
  };
}

function slope(points: ReadonlyArray<{ hours: number; megabytes: number }>): number {
  const middle = mean(points.map(({ hours }) => hours));
  const level = mean(points.map(({ megabytes }) => megabytes));
  const spread = points.reduce((sum, { hours }) => sum + (hours - middle) ** 2, 0);
  if (spread === 0) return 0;
  return (
    points.reduce((sum, { hours, megabytes }) => sum + (hours - middle) * (megabytes - level), 0) / spread
  );
}
