import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadSnapshot } from '../../platform/metrics/load.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { askProcesses, noProcessAnsweredError } from '../processes/controls.ts';
import { type AdminCommand, type CommandContext, CommandUsageError } from './command.ts';
import { formatTable } from './table.ts';
import { type LoadRow, loadRowsBetween } from './top.ts';
import { verdictsOnAllHosts } from './verdicts.ts';

const SECONDS = 2;
const MAX_SECONDS = 60;
const HEAD = [
  ...['process', 'req/s', 'p50 ms', 'p99 ms', 'waiting', 'wait ms', 'upload', 'pixels', 'store', 'model'],
  ...['refused/s', 'delivered/s', 'sockets', 'MB', 'throttled', 'stolen'],
];

export const TOP_COMMAND: AdminCommand = {
  name: 'top',
  about:
    'Shows the load of every process and host over some seconds (2): requests, p50 and p99, where the time of the mean answer went in ms, refusals by reason, delivered pictures by origin, memory, throttled and stolen CPU, and the likeliest cause of a slow p99.',
  options: { seconds: 'N', watch: null },
  async run({ options }, { coordination }) {
    const seconds = Number(options.seconds ?? SECONDS);
    if (!(seconds >= 1 && seconds <= MAX_SECONDS))
      throw new CommandUsageError(
        `--seconds is "${options.seconds}", but a number from 1 to ${MAX_SECONDS} is expected.`,
      );
    const first = await snapshots(coordination);
    await sleep(seconds * 1_000);
    const last = await snapshots(coordination);
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
      text: `${formatTable([HEAD, ...rows.map(cellsOf)])}\n\n${cause}`,
    };
  },
};

/** The load snapshots of the processes that answered. */
async function snapshots(coordination: CommandContext['coordination']) {
  const answers = await askProcesses(coordination, { kind: 'load' });
  return answers.flatMap(({ hostId, processId, data }) =>
    data === null ? [] : [{ hostId, processId, snapshot: data as unknown as LoadSnapshot }],
  );
}

function cellsOf(row: LoadRow): string[] {
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
