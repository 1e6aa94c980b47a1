import { SETTINGS } from '../../../config/index.ts';
import { CAPACITY_SETTINGS, type CapacitySetting } from '../../platform/capacity/capacity.ts';
import { HOUR_MS, MEGABYTE } from '../../platform/names/units.ts';
import type { Setting } from '../../platform/settings/setting.ts';
import { askProcesses, type ControlAnswer } from '../processes/controls.ts';
import { type Command, type CommandAnswer, type CommandContext, type Given, UsageError } from './command.ts';
import { table } from './table.ts';
import { TOP_COMMAND } from './top-command.ts';

/** The declarations of the settings check the values. */
const ACCEPTED: Record<CapacitySetting, Setting<number>> = {
  ...SETTINGS.processes,
  ...SETTINGS.pixels,
  ...SETTINGS.renders,
};
const { LOG_LEVEL } = SETTINGS.http;
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: HOUR_MS };

/** The commands for the running processes of every host that shares the stores. */
export const LIVE_COMMANDS: readonly Command[] = [
  {
    name: 'pools',
    about: 'Shows the pools of every process of every host as they are now; --watch does so every second.',
    takes: [],
    options: { watch: null },
    run: pools,
  },
  TOP_COMMAND,
  {
    name: 'set',
    about: `Changes ${CAPACITY_SETTINGS.join(', ')} on every host without a restart, until the next start; --save keeps it in darkroom.env.`,
    takes: ['NAME=VALUE'],
    options: { save: null },
    run: set,
  },
  {
    name: 'drain',
    about:
      'Replaces a process by a new one, which takes calls before the old one ends; its name is in `pools`.',
    takes: ['HOST/PROCESS'],
    options: {},
    run: drain,
  },
  {
    name: 'log',
    about: `Changes the least severe line that is logged, as LOG_LEVEL does, for good or for a time such as 10m.`,
    takes: ['LEVEL'],
    options: { for: 'TIME' },
    run: log,
  },
  {
    name: 'migrate',
    about:
      'Copies all documents and objects to the stores that an environment file names, and compares both sides. The service is stopped meanwhile; the command itself may be stopped, and goes on where it was.',
    takes: [],
    options: { to: 'FILE' },
    async run() {
      throw new UsageError('Stop the service first: migrate copies stores that nobody writes to.');
    },
  },
];

async function pools(_given: Given, { coordination }: CommandContext): Promise<CommandAnswer> {
  const answers = await askProcesses(coordination, { kind: 'pools' });
  const processes = answers.filter(({ data }) => data !== null);
  if (processes.length === 0) throw new Error('No service runs on these stores: no process answered.');
  const head = ['process', 'pid', 'MB', 'image', 'waiting', 'heavy', 'batch', 'render', 'waiting', 'log'];
  const rows = processes.map(({ hostId, processId, data }) => {
    const { pid, rssBytes, image, heavy, batch, render, logLevel } = data as unknown as PoolsOfProcess;
    const megabytes = Math.round(rssBytes / MEGABYTE);
    const shown = [
      busy(image),
      image.queued,
      busy(heavy),
      busy(batch),
      busy(render),
      render.waiting,
      logLevel,
    ];
    return [`${hostId}/${processId}`, pid, megabytes, ...shown].map(String);
  });
  return {
    data: { processes: processes.map(({ data, ...name }) => ({ ...name, ...data })) },
    text: table([head, ...rows]),
  };
}

interface PoolsOfProcess {
  pid: number;
  rssBytes: number;
  logLevel: string;
  image: { threads: number; busy: number; queued: number };
  heavy: { threads: number; busy: number; queued: number };
  batch: { threads: number; busy: number; queued: number };
  render: { threads: number; busy: number; waiting: number };
}

function busy(pool: { threads: number; busy: number }): string {
  return `${pool.busy} of ${pool.threads}`;
}

async function set({ words, options }: Given, { coordination }: CommandContext): Promise<CommandAnswer> {
  const [name = '', text = ''] = (words[0] ?? '').split('=');
  const known = CAPACITY_SETTINGS.find((setting) => setting === name);
  if (known === undefined)
    throw new UsageError(
      `${name} cannot be changed while the service runs: ${CAPACITY_SETTINGS.join(', ')} can.`,
    );
  const value = ACCEPTED[known].parse(text);
  if (value === undefined) throw new UsageError(`${known} is "${text}", but ${ACCEPTED[known].accepts}.`);
  const save = options.save === true;
  return told(await askProcesses(coordination, { kind: 'set', name: known, value, save }));
}

async function drain({ words }: Given, { coordination }: CommandContext): Promise<CommandAnswer> {
  const [hostId = '', processId = ''] = (words[0] ?? '').split('/');
  if (hostId === '' || !/^\d+$/.test(processId))
    throw new UsageError(`"${words[0]}" names no process: HOST/PROCESS is expected, as \`pools\` shows it.`);
  const answers = await askProcesses(coordination, { kind: 'drain', hostId, processId });
  if (answers.every(({ data, error }) => data === null && error === undefined))
    throw new UsageError(`No host ${hostId} answered: \`pools\` shows those that run.`);
  return told(answers);
}

async function log({ words, options }: Given, { coordination }: CommandContext): Promise<CommandAnswer> {
  const [level = ''] = words;
  if (LOG_LEVEL.parse(level) === undefined)
    throw new UsageError(`"${level}" is no level: ${LOG_LEVEL.accepts}.`);
  const forMs = options.for === undefined ? null : durationMs(String(options.for));
  return told(await askProcesses(coordination, { kind: 'log', level, forMs }));
}

/** `30s`, `10m`, `2h`. */
function durationMs(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smh])$/.exec(text) ?? [];
  if (count === undefined)
    throw new UsageError(`--for is "${text}", but a time such as 30s, 10m or 2h is expected.`);
  return Number(count) * (UNIT_MS[unit] ?? 0);
}

/**
 * One line for each process that answered.
 * @throws Error with all lines when one of them failed.
 */
function told(answers: readonly ControlAnswer[]): CommandAnswer {
  const processes = answers.filter(({ data, error }) => data !== null || error !== undefined);
  const lines = processes.map(({ hostId, processId, data, error }) => {
    const facts = Object.entries(data ?? {}).map(([name, value]) => `${name} ${String(value)}`);
    return `${hostId}/${processId}: ${error ?? facts.join(', ')}`;
  });
  if (lines.length === 0) throw new Error('No service runs on these stores: no process answered.');
  if (processes.some(({ error }) => error !== undefined)) throw new Error(lines.join('\n'));
  return { data: { processes }, text: lines.join('\n') };
}
