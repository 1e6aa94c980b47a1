import type { QueryOf } from '../../../../client/calls.ts';
import type { JobSummary } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useState } from '../html.ts';
import { useBulkAction } from '../parts/bulk.ts';
import { Button } from '../parts/controls.ts';
import {
  countColumn,
  Filters,
  idColumn,
  ListCount,
  LiveSwitch,
  statusColumn,
  timeColumn,
  useLiveList,
  withoutEmptyFilters,
} from '../parts/lists.ts';
import { askToConfirm } from '../parts/overlays.ts';
import { Empty, Page } from '../parts/page.ts';
import { type Column, Table } from '../parts/table.ts';
import { countText } from '../parts/values.ts';
import { navigate, type ScreenProps, useQuery } from '../router.ts';
import { canCancel, canResume, ItemCounts, JOBS_PATH } from './jobs/facts.ts';
import { JobPage } from './jobs/job.ts';
import { NewJob } from './jobs/new-job.ts';

const JOB_LIST_POLL_INTERVAL_MS = 2_500;
const NO_FILTERS = { id: '', status: '', type: '', op: '', createdFrom: '', createdTo: '' };
type JobListFilters = typeof NO_FILTERS;

/** The screen of the account's jobs. It shows all jobs, one job, or the form of a new one. */
export default function JobsScreen({ rest }: ScreenProps) {
  if (rest === 'new') return html`<${NewJob} />`;
  return rest === ''
    ? html`<${JobList} />`
    : html`<${JobPage} key=${rest} jobId=${decodeURIComponent(rest)} />`;
}

/** The actions on many jobs at once. */
const JOB_ACTIONS = {
  Cancel: {
    title: 'Cancelling jobs',
    applies: canCancel,
    does: (id: string, signal: AbortSignal) => api.jobs.cancel(id, { signal }),
    says: 'those that have not ended are cancelled: items that have not started stop at once, running ones finish.',
  },
  Resume: {
    title: 'Resuming jobs',
    applies: canResume,
    does: (id: string, signal: AbortSignal) => api.jobs.resume(id, { signal }),
    says: 'those with items that failed or were cancelled run again as new jobs, at their price.',
  },
};

function JobList() {
  const [filters, setFilters] = useQuery(NO_FILTERS);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const bulk = useBulkAction();
  const { id: _, ...set } = filters;
  const query: QueryOf<'GET /jobs'> = withoutEmptyFilters(set);
  const list = useLiveList<JobSummary>((signal) => api.jobs.list(query, { signal }), [query], {
    keyOf: jobIdOf,
    everyMs: JOB_LIST_POLL_INTERVAL_MS,
  });
  const isFiltered = Object.values(filters).some((value) => value !== '');

  /** The jobs to act on: the selected ones, or if none is selected, all jobs that match the filters. */
  const jobsToActOn = () => {
    if (chosen.size === 0)
      return { count: list.total, rows: api.jobs.list(query), what: 'that the filters show' };
    const rows = list.rows.filter(({ id }) => chosen.has(id));
    return { count: rows.length, rows, what: 'that are chosen' };
  };
  const actOnAll = async (act: keyof typeof JOB_ACTIONS) => {
    const { count, rows, what } = jobsToActOn();
    const { title, applies, does, says } = JOB_ACTIONS[act];
    const jobs = `${count === undefined ? 'the' : countText(count)} ${count === 1 ? 'job' : 'jobs'}`;
    const isAgreed = await askToConfirm({
      title: `${act} ${jobs}?`,
      text: `Of ${jobs} ${what}, ${says}`,
      act: `${act} ${jobs}`,
      isDangerous: act === 'Cancel',
    });
    if (!isAgreed) return;
    await bulk.run<JobSummary>({
      title,
      total: count,
      rows,
      nameOf: jobIdOf,
      act: async (job, signal) => (applies(job) ? does(job.id, signal) : undefined),
      onEnd: () => {
        setChosen(new Set());
        list.reload();
      },
    });
  };

  return html`<${Page}
    title="Jobs"
    lead="Ops, presets and chains of steps over many assets. Records are kept until they expire."
    actions=${html`<a class="button primary" href=${`${JOBS_PATH}/new`}>New job</a>`}
  >
    <${Filters}
      fields=${JOB_FILTER_FIELDS}
      values=${filters}
      onChange=${(change: Partial<JobListFilters>) => {
        setChosen(new Set());
        setFilters(change);
        if (change.id?.startsWith('job_')) navigate(`${JOBS_PATH}/${encodeURIComponent(change.id)}`);
      }}
    />
    <div class="list-head">
      <${ListCount} total=${list.total} nouns=${['job', 'jobs']} chosen=${chosen.size} />
      <${LiveSwitch} ...${list} />
      <span class="list-acts">
        <${Button} isDisabled=${bulk.isRunning || !list.total} onClick=${() => actOnAll('Resume')}>
          Resume ${chosen.size > 0 ? 'chosen' : 'all shown'}
        <//>
        <${Button} isDisabled=${bulk.isRunning || !list.total} onClick=${() => actOnAll('Cancel')}>
          Cancel ${chosen.size > 0 ? 'chosen' : 'all shown'}
        <//>
      </span>
    </div>
    ${bulk.view}
    <${Table}
      label="Jobs"
      columns=${JOB_COLUMNS}
      ...${list}
      keyOf=${jobIdOf}
      hrefOf=${({ id }: JobSummary) => `${JOBS_PATH}/${id}`}
      selected=${chosen}
      onSelect=${setChosen}
      empty=${
        isFiltered
          ? html`<${Empty} title="No job matches" text="Widen the filters, or take one away." />`
          : html`<${Empty}
              title="No jobs yet"
              text="A job runs an op over many assets. Upload some, or begin with a job that makes pictures."
              action=${html`<a class="button primary" href=${`${JOBS_PATH}/new`}>New job</a>`}
            />`
      }
    />
  <//>`;
}

function jobIdOf({ id }: JobSummary): string {
  return id;
}

const optionOf = (value: string) => ({ value, label: value === '' ? 'Any' : value.toLowerCase() });
const JOB_FILTER_FIELDS = [
  { name: 'id', label: 'Open a job by its id', kind: 'search', placeholder: 'job_… opens it' },
  {
    name: 'status',
    label: 'Status',
    kind: 'choice',
    choices: ['', 'PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED', 'CANCELLING'].map(optionOf),
  },
  {
    name: 'type',
    label: 'Type',
    kind: 'choice',
    choices: ['', 'process', 'render', 'parse', 'ai-generate', 'ai-edit', 'chain'].map(optionOf),
  },
  { name: 'op', label: 'Op', kind: 'text' },
  { name: 'createdFrom', label: 'From', kind: 'instant' },
  { name: 'createdTo', label: 'To', kind: 'instant' },
] as const;

const JOB_COLUMNS: readonly Column<JobSummary>[] = [
  { title: 'Job', of: ({ op, type, presetName }) => html`${op ?? presetName ?? type}` },
  statusColumn({ width: 'min(9.5em, 28vw)' }),
  { title: 'Items', width: 'min(16em, 30vw)', of: (job) => html`<${ItemCounts} job=${job} />` },
  {
    title: 'Reason',
    isHiddenWhenNarrow: true,
    of: ({ errorCode, errorMessage }) => errorCode && html`<span title=${errorMessage}>${errorCode}</span>`,
  },
  countColumn('actualCredits', 'Credits', { width: '7.5em' }),
  timeColumn('createdAt', 'Created'),
  idColumn(),
];
