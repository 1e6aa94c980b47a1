import { html, useState } from '../html.ts';
import { callOperator, OperatorOnly } from '../operator.ts';
import type { OperatorRun } from '../operator-schema.ts';
import { Button } from '../parts/controls.ts';
import { type FilterField, Filters, timeColumn, withoutEmptyFilters } from '../parts/lists.ts';
import { Empty, NotLoadedPage, Page } from '../parts/page.ts';
import { useLoad } from '../parts/reading.ts';
import { type Column, Table } from '../parts/table.ts';
import { bytesText, Status } from '../parts/values.ts';
import { addressOf, navigate, type ScreenProps, useQuery } from '../router.ts';
import { MAX_COMPARED_RUNS, RunComparison } from '../runs/comparison.ts';

const RUNS_PATH = '/console/runs';
const REPORT_KINDS = ['load', 'comparison', 'capacity', 'tune', 'table'];
const RUN_FILTER_FIELDS: readonly FilterField[] = [
  { name: 'search', label: 'Name, command or commit', kind: 'search' },
  { name: 'kind', label: 'Kind', kind: 'choice', choices: [{ value: '', label: 'all' }, ...REPORT_KINDS] },
];
const RUN_COLUMNS: readonly Column<OperatorRun>[] = [
  { title: 'Suite', of: ({ suite }) => suite, width: 'min(16em, 42vw)' },
  {
    title: 'Kind',
    of: ({ kind }) => html`<${Status} status=${kind} tone="quiet" />`,
    isHiddenWhenNarrow: true,
    width: '128px',
  },
  timeColumn('at', 'When', { isHiddenWhenNarrow: false, width: '150px' }),
  {
    title: 'Commit',
    of: ({ commit }) => html`<code>${commit ?? '–'}</code>`,
    isHiddenWhenNarrow: true,
    width: '120px',
  },
  { title: 'Result', of: ({ headline }) => headline ?? '', isHiddenWhenNarrow: true },
  {
    title: 'Size',
    of: ({ bytes }) => bytesText(bytes),
    isNumber: true,
    isHiddenWhenNarrow: true,
    width: '88px',
  },
];

/** The screen of the bench and tune reports. If the address contains names of reports, these are compared. */
export default function RunsScreen({ rest }: ScreenProps) {
  return html`<${OperatorOnly} title="Runs">${() => html`<${RunList} isCompared=${rest === 'compare'} />`}<//>`;
}

function RunList({ isCompared }: { isCompared: boolean }) {
  const [{ names, ...filters }, change] = useQuery({ search: '', kind: '', names: '' });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  // A comparison ignores the filters, so that all runs that the address names are found.
  const query = isCompared ? {} : withoutEmptyFilters(filters);
  const read = (signal: AbortSignal) => callOperator('GET /runs', { query, signal });
  const { data, error, isLoading, reload } = useLoad(read, [query]);
  if (isCompared) {
    const runs = names
      .split(',')
      .flatMap((name) => data?.runs.find((run) => run.name === decodeURIComponent(name)) ?? []);
    if (data === undefined) return html`<${NotLoadedPage} title="Runs" error=${error} reload=${reload} />`;
    if (runs.length === 0)
      return html`<${Empty} title="These runs are gone" text="Their files are no longer in the folder." action=${html`<a href=${RUNS_PATH}>All runs</a>`} />`;
    return html`<${RunComparison} runs=${runs} />`;
  }
  const hasTooMany = selected.size > MAX_COMPARED_RUNS;
  const chosen = data?.runs
    .filter(({ name }) => selected.has(name))
    .toSorted((one, other) => (one.at < other.at ? -1 : 1));
  return html`<${Page}
    title="Runs"
    lead=${data && html`Reports of bench and tune in <code>${data.folder}</code>.`}
    actions=${html`<${Button} kind="primary" isDisabled=${selected.size === 0 || hasTooMany} onClick=${() => navigate(compareAddress((chosen ?? []).map(({ name }) => name)))}>
      ${selected.size > 1 ? `Lay ${selected.size} over each other` : 'Open'}
    <//>`}
  >
    <${Filters} fields=${RUN_FILTER_FIELDS} values=${filters} onChange=${change} />
    ${hasTooMany && html`<p class="quiet">At most ${MAX_COMPARED_RUNS} can be laid over each other.</p>`}
    <${Table}
      label="Runs"
      columns=${RUN_COLUMNS}
      rows=${data?.runs ?? []}
      total=${data?.total}
      keyOf=${({ name }: OperatorRun) => name}
      hrefOf=${({ name }: OperatorRun) => compareAddress([name])}
      selected=${selected}
      onSelect=${setSelected}
      ...${{ isLoading: isLoading && data === undefined, error, reload }}
      empty=${html`<${Empty} title="No report matches" text=${html`<code>npm run bench -- smoke</code> writes one into this folder; RESULTS_DIR names another.`} />`}
    />
  <//>`;
}

/**
 * The address that compares runs.
 * @param names the names of the runs; the first one is the baseline.
 */
function compareAddress(names: readonly string[]): string {
  return addressOf(`${RUNS_PATH}/compare`, { names: names.map(encodeURIComponent).join(',') });
}
