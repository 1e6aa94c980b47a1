import type { Account, LedgerEntry, Usage } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useMemo, type View } from '../html.ts';
import { Tabs } from '../parts/controls.ts';
import { countColumn, Filters, timeColumn } from '../parts/lists.ts';
import { Empty, ErrorBox, LabelledValues, Page, Placeholder, Section } from '../parts/page.ts';
import { Plot } from '../parts/plot.ts';
import { useLoad, usePages } from '../parts/reading.ts';
import { type Column, Table } from '../parts/table.ts';
import { Count, countText, Id, Status, Time } from '../parts/values.ts';
import { type ScreenProps, useQuery } from '../router.ts';
import { Keys, Sessions } from './usage/credentials.ts';

const VIEW_TABS = [
  { name: 'usage', label: 'Usage' },
  { name: 'ledger', label: 'Credits' },
  { name: 'keys', label: 'API keys' },
  { name: 'sessions', label: 'Sessions' },
];

/** The screen of the account: its usage and cost, its keys, and its sessions. */
export default function UsageScreen(_: ScreenProps) {
  const [{ view }, setQuery] = useQuery({ view: 'usage' });
  return html`<${Page} title="Usage and credits">
    <${Tabs} label="What is shown" choices=${VIEW_TABS} current=${view} onChoose=${(view: string) => setQuery({ view })} />
    ${view === 'usage' && html`<${UsageReport} />`}
    ${view === 'ledger' && html`<${Ledger} />`}
    ${view === 'keys' && html`<${Keys} />`}
    ${view === 'sessions' && html`<${Sessions} />`}
  <//>`;
}

type UsageGroup = Usage['groups'][number];

const DAY_MS = 86_400_000;
const WINDOW_CHOICES = [
  { value: '30', label: '30 days' },
  { value: '7', label: '7 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
];

/** The usage of a time window: a plot by day, tables by op and by key, and what is left of the allowance. */
function UsageReport() {
  const [filters, setFilters] = useQuery({ days: '30', from: '', to: '' });
  const { days, from, to } = filters;
  const window = useMemo(() => usageWindowOf(days, from, to), [days, from, to]);
  const account = useLoad((signal) => api.request('GET', '/account', { signal }), []);
  const { data, error, reload, isLoading } = useLoad(
    async (signal) => {
      const readGroupedBy = (groupBy: 'day' | 'op' | 'key') =>
        api.usage.read({ ...window, groupBy }, { signal });
      const [byDay, byOp, byKey] = await Promise.all([
        readGroupedBy('day'),
        readGroupedBy('op'),
        readGroupedBy('key'),
      ]);
      return { byDay, byOp, byKey };
    },
    [window],
  );
  return html`
    ${account.data && html`<${Allowances} account=${account.data} />`}
    <${Filters} fields=${WINDOW_FIELDS} values=${filters} onChange=${setFilters} />
    <${ErrorBox} error=${error} onRetry=${reload} />
    ${data === undefined && isLoading && html`<${Placeholder} />`}
    ${data && html`<${UsageFigures} ...${data} />`}
  `;
}

const WINDOW_FIELDS = [
  { name: 'days', label: 'The last', kind: 'choice', choices: WINDOW_CHOICES },
  { name: 'from', label: 'or from', kind: 'instant' },
  { name: 'to', label: 'to', kind: 'instant' },
] as const;

function usageWindowOf(days: string, from: string, to: string): { from: string; to?: string } {
  const end = to === '' ? Date.now() : Date.parse(to);
  const start = from === '' ? new Date(end - Number(days) * DAY_MS).toISOString() : from;
  return { from: start, ...(to !== '' && { to }) };
}

function Allowances({ account: { credits, processing, assets, plan } }: { account: Account }) {
  const usedOfLimitText = (used: number, limit: number) =>
    `${countText(used)}${limit < 0 ? '' : ` of ${countText(limit)}`}`;
  return html`<div class="allowances">
    <${AllowanceBar} label="Runs of this month" used=${processing.used} limit=${processing.limit}>
      ${usedOfLimitText(processing.used, processing.limit)}
    <//>
    <${AllowanceBar} label="Stored assets" used=${assets.stored} limit=${assets.limit}>
      ${usedOfLimitText(assets.stored, assets.limit)}
    <//>
    <${LabelledValues}
      of=${[
        ['Plan', plan],
        ['Balance', html`<${Count} value=${credits.balance} />`],
        ['Held by running jobs', credits.held > 0 ? html`<${Count} value=${credits.held} />` : undefined],
        ['The month ends', html`<${Time} at=${processing.periodEnd} />`],
      ]}
    />
  </div>`;
}

function UsageFigures({ byDay, byOp, byKey }: { byDay: Usage; byOp: Usage; byKey: Usage }) {
  const keys = useLoad((signal) => api.request('GET', '/api-keys', { signal }).catch(() => []), []);
  const plots = useMemo(() => dailySeriesOf(byDay), [byDay]);
  const names = new Map(keys.data?.map(({ id, name, hint }) => [id, name || hint]));
  const { total } = byDay;
  if (byDay.groups.length === 0)
    return html`<${Empty} title="Nothing was done in this time" text="Calls that count and jobs are shown here, by day." />`;
  return html`
    <${LabelledValues}
      of=${[
        ['Calls that counted', html`<${Count} value=${total.sync} />`],
        ['Items of jobs', html`<${Count} value=${total.items} />`],
        ['Jobs', html`<${Count} value=${total.jobs} />`],
        ['Credits of jobs', html`<${Count} value=${total.credits} />`],
        ['Counted until', html`<${Time} at=${byDay.asOf} />`],
      ]}
    />
    <${Section} title="Runs by day (UTC)">
      <${Plot} label="Calls and items" times=${plots.times} series=${plots.runs} isStacked />
    <//>
    ${
      total.credits > 0 &&
      html`<${Section} title="Credits by day (UTC)">
        <${Plot} label="Credits" times=${plots.times} series=${plots.credits} />
      <//>`
    }
    <${Section} title="By op"><${BucketTable} label="Usage by op" title="Op" buckets=${byOp.groups} /><//>
    <${Section} title="By key">
      <${BucketTable}
        label="Usage by key"
        title="Key"
        buckets=${byKey.groups}
        nameOf=${(id: string) => names.get(id) ?? (id === 'console' ? 'console sessions' : id)}
      />
    <//>
  `;
}

interface BucketsProps {
  label: string;
  title: string;
  buckets: readonly UsageGroup[];
  nameOf?: (key: string) => string;
}

function BucketTable({ label, title, buckets, nameOf = (key) => key }: BucketsProps) {
  const numberColumn = (name: 'sync' | 'items' | 'jobs' | 'credits', heading: string) => ({
    title: heading,
    isNumber: true,
    width: '7em',
    isHiddenWhenNarrow: name === 'jobs' || name === 'credits',
    of: (bucket: UsageGroup) => html`<${Count} value=${bucket[name]} />`,
  });
  const runsOf = ({ sync, items }: UsageGroup) => sync + items;
  return html`<${Table}
    label=${label}
    columns=${[
      { title, of: ({ key }: UsageGroup) => html`<span title=${key}>${nameOf(key)}</span>` },
      numberColumn('sync', 'Calls'),
      numberColumn('items', 'Items'),
      numberColumn('jobs', 'Jobs'),
      numberColumn('credits', 'Credits'),
    ]}
    rows=${[...buckets].sort((one, other) => runsOf(other) - runsOf(one))}
    keyOf=${({ key }: UsageGroup) => key}
  />`;
}

/** The usage by day, with 0 for days without usage. */
function dailySeriesOf({ from, to, groups }: Usage) {
  const byDay = new Map(groups.map((bucket) => [bucket.key, bucket]));
  const times: number[] = [];
  const first = Math.floor(Date.parse(from) / DAY_MS) * DAY_MS;
  for (let at = first; at < Date.parse(to); at += DAY_MS) times.push(at / 1_000);
  const dailyValuesOf = (name: 'sync' | 'items' | 'credits') =>
    times.map((at) => byDay.get(new Date(at * 1_000).toISOString().slice(0, 10))?.[name] ?? 0);
  return {
    times,
    runs: [
      { label: 'Calls', values: dailyValuesOf('sync') },
      { label: 'Items of jobs', values: dailyValuesOf('items') },
    ],
    credits: [{ label: 'Credits', values: dailyValuesOf('credits') }],
  };
}

/**
 * A bar that shows how much of a limit is used.
 * @param limit -1 if there is no limit.
 */
function AllowanceBar({ label, used, limit, children }: AllowanceProps) {
  const share = limit > 0 ? Math.min(1, used / limit) : 0;
  return html`<div class="allowance">
    <div class="allowance-head"><span>${label}</span><span class="figure">${children}</span></div>
    ${limit >= 0 && html`<meter min="0" max="1" high="0.9" value=${share} aria-label=${label}></meter>`}
  </div>`;
}

interface AllowanceProps {
  label: string;
  used: number;
  limit: number;
  children?: View;
}

/** The balance, and its movements. */
export function Ledger() {
  const credits = useLoad((signal) => api.usage.credits({ signal }), []);
  const list = usePages<LedgerEntry>((signal) => api.usage.ledger({ signal }), []);
  return html`
    ${
      credits.data &&
      html`<${LabelledValues}
        of=${[
          ['Balance', html`<${Count} value=${credits.data.balance} />`],
          ['Held by running jobs', html`<${Count} value=${credits.data.held} />`],
          ['Available', html`<${Count} value=${credits.data.available} />`],
        ]}
      />`
    }
    <${ErrorBox} error=${credits.error} onRetry=${credits.reload} />
    <${Table}
      label="Movements of credits"
      columns=${LEDGER_COLUMNS}
      ...${list}
      keyOf=${({ id }: LedgerEntry) => id}
      empty=${html`<${Empty} title="No movements yet" text="Jobs of models are charged in credits; the operator grants them." />`}
    />
  `;
}

const MOVEMENT_TONES: Readonly<Record<string, string>> = { grant: 'good', charge: 'quiet', overage: 'warn' };

const LEDGER_COLUMNS: readonly Column<LedgerEntry>[] = [
  {
    title: 'Movement',
    width: '8.5em',
    of: ({ type }) => html`<${Status} status=${type} tone=${MOVEMENT_TONES[type] ?? 'quiet'} />`,
  },
  {
    title: 'Credits',
    isNumber: true,
    width: '8.5em',
    of: ({ credits, held }) => html`<span class="figure">${signedText(credits || held)}</span>`,
  },
  countColumn('balanceAfter', 'Balance after', { width: '11em' }),
  { title: 'Note', isHiddenWhenNarrow: true, of: ({ note }) => note },
  {
    title: 'Job',
    isHiddenWhenNarrow: true,
    width: '13em',
    of: ({ jobId }) => jobId && html`<${Id} id=${jobId} to=${`/console/jobs/${jobId}`} />`,
  },
  timeColumn('createdAt', 'At', { isHiddenWhenNarrow: false }),
];

function signedText(value: number): string {
  return `${value > 0 ? '+' : value < 0 ? '−' : ''}${countText(Math.abs(value))}`;
}
