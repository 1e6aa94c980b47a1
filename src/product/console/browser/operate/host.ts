import { html } from '../html.ts';
import type { OperatorHistory, OperatorHost, OperatorPool, OperatorProcess } from '../operator-schema.ts';
import { Button } from '../parts/controls.ts';
import { Plot } from '../parts/plot.ts';
import type { Series } from '../parts/plot-drawing.ts';
import { type Column, Table } from '../parts/table.ts';
import { bytesText, msText, Status } from '../parts/values.ts';

/** The maximum number of series in a plot: one per colour. */
const MAX_PLOTTED_SERIES = 6;
const RESPONSE_TIME_PARTS: readonly [name: string, label: string][] = [
  ['waitMs', 'wait for a thread'],
  ['uploadMs', 'upload'],
  ['pixelsMs', 'pixels'],
  ['storeMs', 'stores'],
];

/**
 * Plots of a host's last hour. A vertical line in each plot marks an operator's action; only the first plot labels it.
 */
export function Plots({ history }: { history: OperatorHistory }) {
  const times = history.at.map((ms) => ms / 1_000);
  const marks = history.marks.map(({ at, text }) => ({ at: at / 1_000, text }));
  const lines = marks.map(({ at }) => ({ at, text: '' }));
  const seriesOf = (name: string, label: string): Series => ({ label, values: history.series[name] ?? [] });
  const plots = [
    { label: 'Answers per second', series: [seriesOf('rate', 'answers')], textOf: rateText, marks },
    { label: 'Latency', series: [seriesOf('p99', 'p99'), seriesOf('p50', 'p50')], textOf: msText },
    {
      label: 'Where the mean answer spent its time',
      series: RESPONSE_TIME_PARTS.map(([name, label]) => seriesOf(name, label)).filter(
        ({ values }) => maxOf(values) > 0,
      ),
      textOf: msText,
      isStacked: true,
    },
    {
      label: 'Refusals per second, by reason',
      series: largestSeries(history, 'refused/'),
      textOf: rateText,
    },
    {
      label: 'Image threads, and what waits for them',
      series: [seriesOf('queued', 'waiting'), seriesOf('busy', 'busy'), seriesOf('threads', 'threads')],
    },
    {
      label: 'Work in the background that is in hand',
      series: [seriesOf('items', 'items of jobs'), seriesOf('webhooks', 'webhooks')].filter(
        ({ values }) => maxOf(values) > 0,
      ),
    },
    {
      label: 'Cores in use, by role',
      series: largestSeries(history, 'cpu/'),
      textOf: coresText,
      isStacked: true,
    },
    {
      label: 'Memory, by role',
      series: largestSeries(history, 'memory/'),
      textOf: bytesText,
      isStacked: true,
    },
    {
      label: 'Delivered pictures per second, by where they came from',
      series: largestSeries(history, 'delivered/'),
      textOf: rateText,
      isStacked: true,
    },
  ];
  return html`<div class="plots">
    ${plots.map((plot) =>
      plot.series.length === 0
        ? html`<div key=${plot.label} class="no-plot"><strong>${plot.label}</strong><p class="quiet">None in the last hour.</p></div>`
        : html`<${Plot} key=${plot.label} times=${times} marks=${lines} ...${plot} />`,
    )}
  </div>`;
}

/** The series with this name prefix that have the highest values. Sorted by name, so that colours are stable. */
function largestSeries({ series }: OperatorHistory, prefix: string): Series[] {
  return Object.entries(series)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, values]) => ({ label: name.slice(prefix.length), values, most: maxOf(values) }))
    .filter(({ most }) => most > 0)
    .sort((one, other) => other.most - one.most)
    .slice(0, MAX_PLOTTED_SERIES)
    .sort((one, other) => one.label.localeCompare(other.label));
}

function maxOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}

function rateText(perSecond: number): string {
  return `${perSecond >= 10 || perSecond === 0 ? Math.round(perSecond) : perSecond.toFixed(1)}/s`;
}

function coresText(cores: number): string {
  return cores === 0 ? '0' : cores.toFixed(cores < 0.1 ? 3 : 2);
}

const POOLS = ['image', 'slow', 'heavy', 'batch', 'render'];

/** The API processes of a host: what each is working on, and what is waiting. */
export function Processes(props: { host: OperatorHost; onDrain: (process: OperatorProcess) => void }) {
  const { host, onDrain } = props;
  const columns: Column<OperatorProcess>[] = [
    {
      title: 'Process',
      of: ({ name }) => html`<code title=${name}>${name.split('/').at(-1)}</code>`,
      width: '84px',
    },
    { title: 'State', of: stateView, width: '100px' },
    ...POOLS.map(
      (name): Column<OperatorProcess> => ({
        title: `${name[0]?.toUpperCase()}${name.slice(1)}`,
        isNumber: true,
        isHiddenWhenNarrow: name !== 'image',
        // This column is narrow, so that the wait of the image pool is close to its threads.
        ...(name === 'image' && { width: '96px' }),
        of: ({ pools }) => poolView(pools?.[name]),
      }),
    ),
    { title: 'Wait', isNumber: true, isHiddenWhenNarrow: true, of: ({ pools }) => waitText(pools?.image) },
    {
      title: 'Memory',
      isNumber: true,
      isHiddenWhenNarrow: true,
      of: ({ rssBytes }) => (rssBytes === undefined ? '–' : bytesText(rssBytes)),
    },
    {
      title: 'Up',
      isNumber: true,
      isHiddenWhenNarrow: true,
      of: ({ uptimeSeconds }) => uptimeText(uptimeSeconds),
    },
    { title: 'Log', isHiddenWhenNarrow: true, of: ({ logLevel }) => logLevel ?? '–', width: '72px' },
    {
      title: '',
      width: '92px',
      of: (process) =>
        html`<${Button} kind="link" isDisabled=${process.state === 'starting'} label=${`Replace process ${process.name}`} onClick=${() => onDrain(process)}>Replace<//>`,
    },
  ];
  return html`<${Table}
    label="API processes"
    columns=${columns}
    rows=${host.processes}
    keyOf=${({ name }: OperatorProcess) => name}
    empty=${html`<p class="quiet">No process has started yet.</p>`}
  />`;
}

function stateView({ state, silentMs }: OperatorProcess) {
  if (state !== 'silent')
    return html`<${Status} status=${state} tone=${state === 'serving' ? 'good' : 'busy'} />`;
  return html`<${Status} status=${`silent ${Math.round(silentMs / 1_000)} s`} tone="bad" />`;
}

/** How many threads of a pool are busy, and how many tasks wait for a thread. */
function poolView(pool: OperatorPool | undefined) {
  if (pool === undefined) return '–';
  const { threads, busy, queued } = pool;
  return html`<span class=${busy >= threads && queued > 0 ? 'full-pool' : undefined}>
    ${busy} of ${threads}${queued > 0 && html` <b>+${queued}</b>`}
  </span>`;
}

function waitText(pool: OperatorPool | undefined): string {
  return pool?.waitMs === undefined ? '–' : msText(pool.waitMs);
}

function uptimeText(seconds: number): string {
  if (seconds < 3_600) return seconds < 60 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** The processes of a host by role: their number, and what they use. */
export function Roles({
  host: { countByRole, cpuByRole, memoryByRole, cores, memoryLimitBytes },
}: {
  host: OperatorHost;
}) {
  const roles = Object.keys(countByRole).filter((role) => (countByRole[role] ?? 0) > 0);
  const sum = (values: Readonly<Record<string, number>>) =>
    Object.values(values).reduce((total, one) => total + one, 0);
  const rowView = (role: string, count: number, cpu: number, memory: number) => html`<tr key=${role}>
    <th scope="row">${role}</th>
    <td class="number">${count}</td>
    <td class="number"><${ShareBar} part=${cpu} of=${cores} text=${cpu.toFixed(2)} /></td>
    <td class="number"><${ShareBar} part=${memory} of=${memoryLimitBytes} text=${bytesText(memory)} /></td>
  </tr>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Processes by role"><table class="roles">
    <caption class="unseen">Processes by role</caption>
    <thead>
      <tr><th scope="col">Role</th><th scope="col" class="number">Processes</th><th scope="col" class="number">Cores</th><th scope="col" class="number">Memory</th></tr>
    </thead>
    <tbody>
      ${roles.map((role) => rowView(role, countByRole[role] ?? 0, cpuByRole[role] ?? 0, memoryByRole[role] ?? 0))}
      ${rowView(`all, of ${cores} cores and ${bytesText(memoryLimitBytes)}`, sum(countByRole), sum(cpuByRole), sum(memoryByRole))}
    </tbody>
  </table></div>`;
}

/** A figure as text, with a bar that shows `part` as a share of `of`. */
function ShareBar({ part, of, text }: { part: number; of: number; text: string }) {
  const share = Math.min(1, of > 0 ? part / of : 0);
  return html`<span class="role-share"><i style=${{ width: `${share * 100}%` }}></i></span> ${text}`;
}
