import { html } from '../html.ts';
import { Plot } from '../parts/plot.ts';
import type { Series } from '../parts/plot-props.ts';
import { bytesText, msText } from '../parts/values.ts';
import type { History } from './state.ts';

/** The number of series in a plot, each with its own colour. */
const MAX_SERIES = 6;
const PARTS: readonly [name: string, label: string][] = [
  ['waitMs', 'wait for a thread'],
  ['uploadMs', 'upload'],
  ['pixelsMs', 'pixels'],
  ['storeMs', 'stores'],
  ['providerMs', 'models'],
];

/** Plots of a host's last hour. An operator's action is a line in each plot; the first plot names it. */
export function Plots({ history }: { history: History }) {
  const times = history.at.map((ms) => ms / 1_000);
  const marks = history.marks.map(({ at, text }) => ({ at: at / 1_000, text }));
  const lines = marks.map(({ at }) => ({ at, text: '' }));
  const of = (name: string, label: string): Series => ({ label, values: history.series[name] ?? [] });
  const group = (prefix: string) => largest(history, prefix);
  const plots = [
    { label: 'Answers per second', series: [of('rate', 'answers')], textOf: rateText, marks },
    { label: 'Latency', series: [of('p99', 'p99'), of('p50', 'p50')], textOf: msText },
    {
      label: 'Where the mean answer spent its time',
      series: PARTS.map(([name, label]) => of(name, label)).filter(({ values }) => mostOf(values) > 0),
      textOf: msText,
      isStacked: true,
    },
    { label: 'Refusals per second, by reason', series: group('refused/'), textOf: rateText },
    {
      label: 'Image threads, and what waits for them',
      series: [of('queued', 'waiting'), of('busy', 'busy'), of('threads', 'threads')],
    },
    {
      label: 'Work in the background that is in hand',
      series: [of('items', 'items of jobs'), of('webhooks', 'webhooks')].filter(
        ({ values }) => mostOf(values) > 0,
      ),
    },
    { label: 'Cores in use, by role', series: group('cpu/'), textOf: coresText, isStacked: true },
    { label: 'Memory, by role', series: group('memory/'), textOf: bytesText, isStacked: true },
    {
      label: 'Delivered pictures per second, by where they came from',
      series: group('delivered/'),
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

/** The series with a prefix that had the highest values. A series keeps its colour. */
function largest({ series }: History, prefix: string): Series[] {
  return Object.entries(series)
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, values]) => ({ label: name.slice(prefix.length), values, most: mostOf(values) }))
    .filter(({ most }) => most > 0)
    .sort((one, other) => other.most - one.most)
    .slice(0, MAX_SERIES)
    .sort((one, other) => one.label.localeCompare(other.label));
}

function mostOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
}

function rateText(perSecond: number): string {
  return `${perSecond >= 10 || perSecond === 0 ? Math.round(perSecond) : perSecond.toFixed(1)}/s`;
}

function coresText(cores: number): string {
  return cores === 0 ? '0' : cores.toFixed(cores < 0.1 ? 3 : 2);
}
