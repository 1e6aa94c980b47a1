import type { Account, Usage } from '../../../../../client/schema.ts';
import { html, useMemo } from '../../html.ts';
import { Filters } from '../../parts/filters.ts';
import { Allowance } from '../../parts/meter.ts';
import { Facts, Section } from '../../parts/page.ts';
import { Plot } from '../../parts/plot.ts';
import { useReading } from '../../parts/reading.ts';
import { Empty, ErrorBox, Waiting } from '../../parts/states.ts';
import { Table } from '../../parts/table.ts';
import { Count, countText, Time } from '../../parts/values.ts';
import { useQuery } from '../../router.ts';
import { api } from '../../session.ts';

type Bucket = Usage['groups'][number];

const DAY_MS = 86_400_000;
const SPANS = [
  { value: '30', label: '30 days' },
  { value: '7', label: '7 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'a year' },
];

/** The usage of a time window: a plot by day, tables by op and by key, and what is left of the allowance. */
export function UsageOfWindow() {
  const [filters, setFilters] = useQuery({ days: '30', from: '', to: '' });
  const { days, from, to } = filters;
  const window = useMemo(() => windowOf(days, from, to), [days, from, to]);
  const account = useReading((signal) => api.request('GET', '/account', { signal }), []);
  const { data, error, reload, isLoading } = useReading(
    async (signal) => {
      const by = (groupBy: 'day' | 'op' | 'key') => api.usage.read({ ...window, groupBy }, { signal });
      const [byDay, byOp, byKey] = await Promise.all([by('day'), by('op'), by('key')]);
      return { byDay, byOp, byKey };
    },
    [window],
  );
  return html`
    ${account.data && html`<${Allowances} account=${account.data} />`}
    <${Filters} fields=${FIELDS} values=${filters} onChange=${setFilters} />
    <${ErrorBox} error=${error} onRetry=${reload} />
    ${data === undefined && isLoading && html`<${Waiting} />`}
    ${data && html`<${Figures} ...${data} />`}
  `;
}

const FIELDS = [
  { name: 'days', label: 'The last', kind: 'choice', choices: SPANS },
  { name: 'from', label: 'or from', kind: 'instant' },
  { name: 'to', label: 'to', kind: 'instant' },
] as const;

function windowOf(days: string, from: string, to: string): { from: string; to?: string } {
  const end = to === '' ? Date.now() : Date.parse(to);
  const start = from === '' ? new Date(end - Number(days) * DAY_MS).toISOString() : from;
  return { from: start, ...(to !== '' && { to }) };
}

function Allowances({ account: { credits, processing, assets, plan } }: { account: Account }) {
  const of = (used: number, limit: number) =>
    `${countText(used)}${limit < 0 ? '' : ` of ${countText(limit)}`}`;
  return html`<div class="allowances">
    <${Allowance} label="Runs of this month" used=${processing.used} limit=${processing.limit}>
      ${of(processing.used, processing.limit)}
    <//>
    <${Allowance} label="Stored assets" used=${assets.stored} limit=${assets.limit}>
      ${of(assets.stored, assets.limit)}
    <//>
    <${Facts}
      of=${[
        ['Plan', plan],
        ['Balance', html`<${Count} value=${credits.balance} />`],
        ['Held by running jobs', credits.held > 0 ? html`<${Count} value=${credits.held} />` : undefined],
        ['The month ends', html`<${Time} at=${processing.periodEnd} />`],
      ]}
    />
  </div>`;
}

function Figures({ byDay, byOp, byKey }: { byDay: Usage; byOp: Usage; byKey: Usage }) {
  const keys = useReading((signal) => api.request('GET', '/api-keys', { signal }).catch(() => []), []);
  const plots = useMemo(() => seriesOf(byDay), [byDay]);
  const names = new Map(keys.data?.map(({ id, name, hint }) => [id, name || hint]));
  const { total } = byDay;
  if (byDay.groups.length === 0)
    return html`<${Empty} title="Nothing was done in this time" text="Calls that count and jobs are shown here, by day." />`;
  return html`
    <${Facts}
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
    <${Section} title="By op"><${Buckets} label="Usage by op" title="Op" buckets=${byOp.groups} /><//>
    <${Section} title="By key">
      <${Buckets}
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
  buckets: readonly Bucket[];
  nameOf?: (key: string) => string;
}

function Buckets({ label, title, buckets, nameOf = (key) => key }: BucketsProps) {
  const number = (name: 'sync' | 'items' | 'jobs' | 'credits', heading: string) => ({
    name,
    title: heading,
    isNumber: true,
    width: '7em',
    isWide: name === 'jobs' || name === 'credits',
    of: (bucket: Bucket) => html`<${Count} value=${bucket[name]} />`,
  });
  const runsOf = ({ sync, items }: Bucket) => sync + items;
  return html`<${Table}
    label=${label}
    columns=${[
      { name: 'key', title, of: ({ key }: Bucket) => html`<span title=${key}>${nameOf(key)}</span>` },
      number('sync', 'Calls'),
      number('items', 'Items'),
      number('jobs', 'Jobs'),
      number('credits', 'Credits'),
    ]}
    rows=${[...buckets].sort((one, other) => runsOf(other) - runsOf(one))}
    keyOf=${({ key }: Bucket) => key}
  />`;
}

/** One value per day of the window, even for days without usage. */
function seriesOf({ from, to, groups }: Usage) {
  const byDay = new Map(groups.map((bucket) => [bucket.key, bucket]));
  const times: number[] = [];
  const first = Math.floor(Date.parse(from) / DAY_MS) * DAY_MS;
  for (let at = first; at < Date.parse(to); at += DAY_MS) times.push(at / 1_000);
  const of = (name: 'sync' | 'items' | 'credits') =>
    times.map((at) => byDay.get(new Date(at * 1_000).toISOString().slice(0, 10))?.[name] ?? 0);
  return {
    times,
    runs: [
      { label: 'Calls', values: of('sync') },
      { label: 'Items of jobs', values: of('items') },
    ],
    credits: [{ label: 'Credits', values: of('credits') }],
  };
}
