import { hasEnded } from '../../../../../client/nouns/jobs.ts';
import type { Job, JobEstimate, JobItem } from '../../../../../client/schema.ts';
import { api } from '../../api.ts';
import { html, useEffect, useRef } from '../../html.ts';
import { Button, Tabs } from '../../parts/controls.ts';
import { LiveSwitch, statusColumn } from '../../parts/lists.ts';
import { askToConfirm, toast } from '../../parts/overlays.ts';
import { Empty, ErrorBox, LabelledValues, NotLoadedPage, Page, Section } from '../../parts/page.ts';
import { Thumbnail } from '../../parts/pictures.ts';
import { useAction, usePages, usePoll } from '../../parts/reading.ts';
import { type Column, Table } from '../../parts/table.ts';
import {
  Code,
  Count,
  countText,
  Id,
  Milliseconds,
  Status,
  Time,
  Timeline,
  type TimelineEntry,
} from '../../parts/values.ts';
import { addressOf, navigate, useQuery } from '../../router.ts';
import { canCancel, canResume, ItemCounts, JOBS_PATH } from './facts.ts';

const RUNNING_JOB_POLL_INTERVAL_MS = 1_500;
const ENDED_JOB_POLL_INTERVAL_MS = 60_000;

/** The page of one job: what it does, its state, and the outcome of each item. */
export function JobPage({ jobId }: { jobId: string }) {
  const [{ items: status }, setFilters] = useQuery({ items: '' });
  const job = usePoll(
    (signal) => api.jobs.get(jobId, { items: 0 }, { signal }),
    [jobId],
    (data) =>
      data !== undefined && hasEnded(data) ? ENDED_JOB_POLL_INTERVAL_MS : RUNNING_JOB_POLL_INTERVAL_MS,
  );
  const { data } = job;
  const above = { title: 'Jobs', path: JOBS_PATH };
  if (data === undefined) return html`<${NotLoadedPage} title="Job" above=${above} ...${job} />`;
  return html`<${Page}
    title=${data.op ?? data.presetName ?? data.type}
    above=${above}
    actions=${html`<${JobActions} job=${data} reload=${job.reload} />`}
  >
    <div class="list-head"><${ItemCounts} job=${data} /><${LiveSwitch} ...${job} /></div>
    <${JobFacts} job=${data} />
    <${ErrorBox} error=${job.error} onRetry=${job.reload} />
    <${Section} title="Timeline"><${Timeline} entries=${timelineOf(data)} /><//>
    <${Section} title="Items">
      <${Tabs}
        label="Which items"
        choices=${ITEM_FILTER_CHOICES}
        current=${status}
        onChoose=${(items: string) => setFilters({ items })}
      />
      <${JobItems} job=${data} status=${status} />
    <//>
    <${Section} title="What was submitted">
      <${Code} samples=${[{ label: 'JSON', code: JSON.stringify(jobWorkOf(data), null, 2) }]} />
    <//>
  <//>`;
}

const ITEM_FILTER_CHOICES = [
  { name: '', label: 'All' },
  { name: 'COMPLETED', label: 'Completed' },
  { name: 'FAILED', label: 'Failed' },
  { name: 'PROCESSING', label: 'Running' },
  { name: 'PENDING', label: 'Waiting' },
  { name: 'CANCELLED', label: 'Cancelled' },
];

function JobActions({ job, reload }: { job: Job; reload: () => void }) {
  const { act, actIfConfirmed, isActing, error } = useAction();
  const cancel = () => {
    const text = 'Items that have not started stop at once; running ones finish, and what is complete stays.';
    return actIfConfirmed({ title: 'Cancel this job?', text, act: 'Cancel the job' }, async () => {
      await api.jobs.cancel(job.id);
      reload();
    });
  };
  const resume = () =>
    act(async () => {
      const fields = { path: { jobId: job.id }, query: { dryRun: true } };
      const estimate = await api.request('POST', '/jobs/{jobId}/resume', fields);
      const { totalItems, credits } = estimate as JobEstimate;
      const isAgreed = await askToConfirm({
        title: `Resume ${countText(totalItems)} items?`,
        text: `They run again as a new job, for ${countText(credits)} credits.`,
        act: 'Resume',
      });
      if (!isAgreed) return;
      const { id } = await api.jobs.resume(job.id);
      toast('The job is resumed as a new one.');
      navigate(`${JOBS_PATH}/${id}`);
    });
  const download = () =>
    act(async () => {
      const { url } = await api.request('GET', '/jobs/{jobId}/results/link', { path: { jobId: job.id } });
      const { pathname, search } = new URL(url);
      location.assign(pathname + search);
    });
  return html`
    ${job.completedItems > 0 && hasEnded(job) && html`<${Button} onClick=${download} isBusy=${isActing}>Download results<//>`}
    ${canResume(job) && html`<${Button} kind="primary" onClick=${resume} isBusy=${isActing}>Resume<//>`}
    ${canCancel(job) && html`<${Button} kind="danger" onClick=${cancel} isBusy=${isActing}>Cancel<//>`}
    <${ErrorBox} error=${error} />
  `;
}

function JobFacts({ job }: { job: Job }) {
  const { id, status, type, model, presetId, collection, actualCredits, sandbox, parentJobId, rootJobId } =
    job;
  return html`<${LabelledValues}
    of=${[
      ['Status', html`<${Status} status=${status} />`],
      ['Id', html`<${Id} id=${id} />`],
      ['Type', type],
      ['Model', model],
      [
        'Preset',
        presetId && html`<a href=${`/console/presets/${presetId}`}>${job.presetName ?? presetId}</a>`,
      ],
      [
        'Collection',
        collection && html`<a href=${addressOf('/console/assets', { collection })}>${collection}</a>`,
      ],
      ['Credits', html`<${Count} value=${actualCredits} />`],
      ['Attempt', job.attemptNumber > 1 ? countText(job.attemptNumber) : undefined],
      ['Resumed from', parentJobId && html`<${Id} id=${parentJobId} to=${`${JOBS_PATH}/${parentJobId}`} />`],
      [
        'First attempt',
        rootJobId !== id && html`<${Id} id=${rootJobId} to=${`${JOBS_PATH}/${rootJobId}`} />`,
      ],
      ['Sample', sandbox && 'what it made is invented by the sandbox'],
      ['Kept until', html`<${Time} at=${job.expiresAt} />`],
    ]}
  />`;
}

/** The events of a job, with their times. */
function timelineOf(job: Job): TimelineEntry[] {
  const { status, createdAt, completedAt, errorCode, errorMessage, totalItems, outcome } = job;
  const submitted: TimelineEntry = { at: createdAt, title: `Submitted with ${countText(totalItems)} items` };
  if (completedAt === undefined) {
    const title = status === 'PENDING' ? 'Waiting for its turn' : 'Running';
    return [submitted, { at: null, title, tone: 'busy' }];
  }
  const words = { all: 'all items completed', some: 'some items completed', none: 'no item completed' };
  const tone = outcome === 'all' ? 'good' : outcome === 'some' ? 'warn' : 'bad';
  const title = `${status[0]}${status.slice(1).toLowerCase()}${outcome ? `: ${words[outcome]}` : ''}`;
  const view = errorMessage && html`<p><code>${errorCode}</code> ${errorMessage}</p>`;
  return [submitted, { at: completedAt, title, tone, view }];
}

function JobItems({ job, status }: { job: Job; status: string }) {
  const query = status === '' ? {} : { status: status as JobItem['status'] };
  const { completedItems, failedItems, cancelledItems } = job;
  const settled = completedItems + failedItems + cancelledItems;
  const list = usePages<JobItem>((signal) => api.jobs.items(job.id, query, { signal }), [job.id, status]);
  const known = useRef(settled);
  useEffect(() => {
    if (known.current !== settled) list.reload();
    known.current = settled;
  }, [settled]);
  const startMs = Date.parse(job.createdAt);
  const endMs = job.completedAt === undefined ? Date.now() : Date.parse(job.completedAt);
  const span = { startMs, lengthMs: Math.max(1, endMs - startMs) };
  return html`<${Table}
    label="Items"
    columns=${itemColumnsOf(span)}
    ...${list}
    keyOf=${({ index }: JobItem) => String(index)}
    empty=${html`<${Empty} title="No such items" />`}
  />`;
}

interface BarSpan {
  startMs: number;
  lengthMs: number;
}

function itemColumnsOf(span: BarSpan): Column<JobItem>[] {
  return [
    {
      title: 'Item',
      width: 'min(8.5em, 18vw)',
      of: ({ index, variant }) => html`<span class="figure">${index}</span> ${variant}`,
    },
    {
      title: 'Result',
      width: 'min(6.5em, 16vw)',
      of: ({ resultAssetId, output, index }) => {
        if (resultAssetId !== undefined)
          return html`<a href=${`/console/assets/${resultAssetId}`} aria-label=${`Result of item ${index}`}>
            <${Thumbnail} id=${resultAssetId} edge=${64} />
          </a>`;
        return output !== undefined && html`<code title=${JSON.stringify(output)}>JSON</code>`;
      },
    },
    statusColumn({ width: 'min(9.5em, 28vw)' }),
    {
      title: 'Reason',
      of: ({ errorCode, errorMessage, warnings }) =>
        errorCode
          ? html`<span title=${errorMessage}><code>${errorCode}</code> ${errorMessage}</span>`
          : warnings?.map(({ code, name }) => html`<code key=${code + name}>${code}: ${name}</code> `),
    },
    { title: 'When', isHiddenWhenNarrow: true, width: '16em', of: (item) => itemBar(item, span) },
    {
      title: 'Took',
      isNumber: true,
      isHiddenWhenNarrow: true,
      width: '7.5em',
      of: ({ durationMs }) => html`<${Milliseconds} value=${durationMs} />`,
    },
  ];
}

/** A bar that shows when an item ran, relative to the duration of its job. */
function itemBar({ startedAt, completedAt, status }: JobItem, { startMs, lengthMs }: BarSpan) {
  if (startedAt === undefined) return null;
  const shareAt = (at: number) => Math.min(1, Math.max(0, (at - startMs) / lengthMs));
  const left = shareAt(Date.parse(startedAt));
  const right = completedAt === undefined ? 1 : shareAt(Date.parse(completedAt));
  const style = { left: `${100 * left}%`, width: `${Math.max(1, 100 * (right - left))}%` };
  return html`<span class="when" title=${`${startedAt} to ${completedAt ?? 'now'}`}>
    <span class=${status.toLowerCase()} style=${style}></span>
  </span>`;
}

/** The fields that the caller chose when the job was submitted. */
function jobWorkOf({ op, prompt, parameters, model, presetId, references, segments, pipelines }: Job) {
  return { op, presetId, model, prompt, parameters, references, segments, pipelines };
}
