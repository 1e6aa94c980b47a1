import { setTimeout as sleep } from 'node:timers/promises';
import { SETTINGS } from '../../../config/index.ts';
import { CAPACITY_SETTINGS, type CapacitySetting } from '../../platform/concurrency/capacity.ts';
import { grantedCores } from '../../platform/concurrency/control-group.ts';
import type { LoadSnapshot } from '../../platform/metrics/load.ts';
import type { Setting } from '../../platform/setting.ts';
import { DAY_MS, HOUR_MS, MEGABYTE_BYTES, MINUTE_MS } from '../../platform/values/units.ts';
import {
  askProcesses,
  type ControlAnswer,
  noProcessAnsweredError,
  PRIMARY_PROCESS_ID,
} from '../processes/controls.ts';
import type { ProcessReport } from '../processes/process-controls.ts';
import {
  type AdminCommand,
  type CommandContext,
  type CommandResult,
  CommandUsageError,
  formatTable,
  type LiveCommandContext,
} from './command.ts';
import { type LoadRow, loadRowsBetween } from './top.ts';
import { verdictsOnAllHosts } from './verdicts.ts';

/** The declarations of the settings that can be changed at run time. They check the values that an operator gives. */
const CAPACITY_DECLARATIONS: Record<CapacitySetting, Setting<number>> = {
  ...SETTINGS.processes,
  ...SETTINGS.images,
  ...SETTINGS.renders,
  ...SETTINGS.jobs,
  ...SETTINGS.webhooks,
};
const { LOG_LEVEL } = SETTINGS.http;
const MS_PER_DURATION_UNIT: Record<string, number> = { s: 1_000, m: MINUTE_MS, h: HOUR_MS };
/**
 * The longest time for which a log level can be set. A timer of Node is limited to 24.8 days, and a longer one fires at
 * once.
 */
const MAX_LOG_LEVEL_OVERRIDE_MS = 24 * DAY_MS;
/**
 * Settings that count processes or threads. More than a few processes or threads per core only slow each other down.
 */
const SETTINGS_BOUNDED_BY_CORES: readonly CapacitySetting[] = [
  'PROCESSES',
  'IMAGE_THREADS',
  'RENDER_THREADS',
];
const MAX_THREADS_PER_CORE = 4;
const POOL_COLUMNS = [
  ...['process', 'pid', 'MB', 'image', 'waiting', 'slow', 'waiting'],
  ...['heavy', 'batch', 'render', 'waiting', 'log'],
];

const DEFAULT_TOP_SECONDS = 2;
const MAX_TOP_SECONDS = 60;
const TOP_COLUMNS = [
  ...['process', 'req/s', 'p50 ms', 'p99 ms', 'waiting', 'wait ms', 'upload', 'pixels', 'store', 'model'],
  ...['refused/s', 'delivered/s', 'sockets', 'MB', 'throttled', 'stolen'],
];

const TOP_COMMAND: AdminCommand = {
  name: 'top',
  about:
    'Shows the load of every process and host over some seconds (2): requests, p50 and p99, where the time of the mean answer went in ms, the mean time of a model call, refusals by reason, delivered pictures by origin, memory, throttled and stolen CPU, and the likeliest cause of a slow p99.',
  options: { seconds: 'N', watch: null },
  async run({ options }, { coordination }) {
    const seconds = Number(options.seconds ?? DEFAULT_TOP_SECONDS);
    if (!(seconds >= 1 && seconds <= MAX_TOP_SECONDS))
      throw new CommandUsageError(
        `--seconds is "${options.seconds}", but a number from 1 to ${MAX_TOP_SECONDS} is expected.`,
      );
    const first = await readLoadSnapshots(coordination);
    await sleep(seconds * 1_000);
    const last = await readLoadSnapshots(coordination);
    const observed = last.flatMap(({ hostId, processId, snapshot: after }) => {
      const before = first.find((one) => one.hostId === hostId && one.processId === processId)?.snapshot;
      return before === undefined ? [] : [{ hostId, processId, before, after }];
    });
    const rows = loadRowsBetween(observed);
    if (rows.length === 0) throw noProcessAnsweredError();
    const verdicts = verdictsOnAllHosts(rows);
    const cause = verdicts.map(({ sentence }) => sentence).join('\n');
    return {
      data: { seconds, rows, verdicts, cause },
      text: `${formatTable([TOP_COLUMNS, ...rows.map(loadCellsOf)])}\n\n${cause}`,
    };
  },
};

/** The commands for the running processes of every host that shares the stores. */
export const LIVE_COMMANDS: ReadonlyArray<AdminCommand<LiveCommandContext>> = [
  {
    name: 'pools',
    about: 'Shows the pools of every process of every host as they are now; --watch does so every second.',
    options: { watch: null },
    async run(_given, { coordination }) {
      const answers = await askProcesses(coordination, { kind: 'pools' });
      const processes = answers.filter(({ data }) => data !== null);
      if (processes.length === 0) throw noProcessAnsweredError();
      return {
        data: { processes: processes.map(({ data, ...name }) => ({ ...name, ...data })) },
        text: formatTable([POOL_COLUMNS, ...processes.map(poolCellsOf)]),
      };
    },
  },
  TOP_COMMAND,
  {
    name: 'set',
    about: `Changes ${CAPACITY_SETTINGS.join(', ')} on every host without a restart, until the next start; --save keeps it in darkroom.env. More than ${MAX_THREADS_PER_CORE} threads or processes per core need --yes.`,
    takes: ['NAME=VALUE'],
    options: { save: null, yes: null },
    async run({ words: [assignment = ''], options }, { coordination, by }) {
      const [given = '', text = ''] = assignment.split('=');
      const name = CAPACITY_SETTINGS.find((setting) => setting === given);
      if (name === undefined)
        throw new CommandUsageError(
          `${given} cannot be changed while the service runs: ${CAPACITY_SETTINGS.join(', ')} can.`,
        );
      const value = CAPACITY_DECLARATIONS[name].parse(text);
      if (value === undefined)
        throw new CommandUsageError(`${name} is "${text}", but ${CAPACITY_DECLARATIONS[name].accepts}.`);
      const most = Math.ceil(MAX_THREADS_PER_CORE * grantedCores());
      if (SETTINGS_BOUNDED_BY_CORES.includes(name) && value > most && options.yes !== true)
        throw new CommandUsageError(
          `${name}=${value} is more than ${MAX_THREADS_PER_CORE} for each core: they would share ${grantedCores()} cores, and each takes memory. Pass --yes (over HTTP "yes": true) if you mean it.`,
        );
      const save = options.save === true;
      const answers = await askProcesses(coordination, { kind: 'set', name, value, save, by });
      const hostsWithoutAnswer = hostsWithoutPrimary(answers);
      if (hostsWithoutAnswer.length > 0)
        throw new Error(
          `${name}=${value} is not in force yet on ${hostsWithoutAnswer.join(', ')}: the primary did not answer within a minute, and goes on. \`pools\` shows when it is.`,
        );
      return combineAnswers(answers);
    },
  },
  {
    name: 'drain',
    about:
      'Replaces a process by a new one, which takes calls before the old one ends; its name is in `pools`.',
    takes: ['HOST/PROCESS'],
    async run({ words: [name = ''] }, { coordination, by }) {
      const [hostId = '', processId = ''] = name.split('/');
      if (hostId === '' || !/^\d+$/.test(processId))
        throw new CommandUsageError(
          `"${name}" is not a process: HOST/PROCESS is expected, as \`pools\` shows it.`,
        );
      const answers = await askProcesses(coordination, { kind: 'drain', hostId, processId, by });
      if (answers.every(({ data, error }) => data === null && error === undefined))
        throw new CommandUsageError(`No host ${hostId} answered: \`pools\` shows those that run.`);
      return combineAnswers(answers);
    },
  },
  {
    name: 'log',
    about: `Changes the least severe line that is logged, as LOG_LEVEL does, for good or for a time such as 10m.`,
    takes: ['LEVEL'],
    options: { for: 'TIME' },
    async run({ words: [level = ''], options }, { coordination, by }) {
      if (LOG_LEVEL.parse(level) === undefined)
        throw new CommandUsageError(`"${level}" is not a level: ${LOG_LEVEL.accepts}.`);
      const forMs = options.for === undefined ? null : parseDuration(String(options.for));
      return combineAnswers(await askProcesses(coordination, { kind: 'log', level, forMs, by }));
    },
  },
];

/** The hosts whose primary did not answer in time, although some of their processes did. */
function hostsWithoutPrimary(answers: readonly ControlAnswer[]): string[] {
  const byHost = Map.groupBy(answers, ({ hostId }) => hostId);
  return [...byHost].flatMap(([hostId, ofHost]) =>
    ofHost.some(({ processId }) => processId === PRIMARY_PROCESS_ID) ? [] : [hostId],
  );
}

function poolCellsOf({ hostId, processId, data }: ControlAnswer): string[] {
  const { pid, rssBytes, image, slow, heavy, batch, render, logLevel } = data as unknown as ProcessReport;
  const [images, slows, heavies, batches, renders] = [image, slow, heavy, batch, render].map(
    ({ busy, threads }) => `${busy} of ${threads}`,
  );
  const megabytes = Math.round(rssBytes / MEGABYTE_BYTES);
  const pools = [images, image.queued, slows, slow.queued, heavies, batches, renders, render.waiting];
  return [`${hostId}/${processId}`, pid, megabytes, ...pools, logLevel].map(String);
}

/** Parses a time such as `30s`, `10m` or `2h`. */
function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smh])$/.exec(text) ?? [];
  const ms = Number(count) * (MS_PER_DURATION_UNIT[unit] ?? 0);
  if (ms > 0 && ms <= MAX_LOG_LEVEL_OVERRIDE_MS) return ms;
  throw new CommandUsageError(
    `--for is "${text}", but a time such as 30s, 10m or 2h is expected, of 576h at most.`,
  );
}

/**
 * The result of a command, with one line per process that answered.
 * @throws Error with all lines when a process failed.
 */
function combineAnswers(answers: readonly ControlAnswer[]): CommandResult {
  const processes = answers.filter(({ data, error }) => data !== null || error !== undefined);
  const lines = processes.map(({ hostId, processId, data, error }) => {
    const facts = Object.entries(data ?? {}).map(([name, value]) => `${name} ${String(value)}`);
    return `${hostId}/${processId}: ${error ?? facts.join(', ')}`;
  });
  if (lines.length === 0) throw noProcessAnsweredError();
  if (processes.some(({ error }) => error !== undefined)) throw new Error(lines.join('\n'));
  return { data: { processes }, text: lines.join('\n') };
}

/** The load snapshots of the processes that answered. */
async function readLoadSnapshots(coordination: CommandContext['coordination']) {
  const answers = await askProcesses(coordination, { kind: 'load' });
  return answers.flatMap(({ hostId, processId, data }) =>
    data === null ? [] : [{ hostId, processId, snapshot: data as unknown as LoadSnapshot }],
  );
}

function loadCellsOf(row: LoadRow): string[] {
  const times = [row.waitMs, row.uploadMs, row.pixelsMs, row.storeMs, row.providerMs];
  const rates = (named: Record<string, number>) =>
    Object.entries(named)
      .map(([name, rate]) => `${name} ${rate.toFixed(1)}`)
      .join(', ') || '0';
  return [
    row.name,
    row.requestsPerSecond.toFixed(1),
    ...[row.p50, row.p99].map((ms) => (ms === null ? '-' : ms.toFixed(0))),
    String(row.waiting),
    ...times.map((ms) => ms.toFixed(1)),
    rates(row.refusals),
    rates(row.delivered),
    String(row.connections),
    String(Math.round(row.memoryBytes / MEGABYTE_BYTES)),
    ...[row.throttled, row.stolen].map((share) => `${Math.round(share * 100)} %`),
  ];
}
