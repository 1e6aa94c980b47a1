import { hasEnded } from '../../../../../client/nouns/jobs.ts';
import type { JobSummary } from '../../../../../client/schema.ts';
import { html } from '../../html.ts';
import { countText } from '../../parts/values.ts';

export const JOBS_PATH = '/console/jobs';

export function canCancel(job: Pick<JobSummary, 'status'>): boolean {
  return !hasEnded(job) && job.status !== 'CANCELLING';
}

/** Whether the job has failed or cancelled items, which can run again. */
export function canResume(job: JobSummary): boolean {
  return hasEnded(job) && job.failedItems + job.cancelledItems > 0;
}

/** The numbers of completed, failed and cancelled items, as a bar and as text. */
export function ItemCounts({ job }: { job: JobSummary }) {
  const { totalItems, completedItems, failedItems, cancelledItems } = job;
  const parts = [
    ['good', completedItems],
    ['bad', failedItems],
    ['quiet', cancelledItems],
  ] as const;
  const failed = failedItems > 0 ? `, ${countText(failedItems)} failed` : '';
  const words = `${countText(completedItems)} of ${countText(totalItems)}${failed}`;
  return html`<span class="item-counts">
    <span class="item-bar" aria-hidden="true">
      ${parts.map(
        ([tone, count]) =>
          count > 0 &&
          html`<span key=${tone} class=${tone} style=${{ width: `${(100 * count) / totalItems}%` }}></span>`,
      )}
    </span>
    <span class="figure">${words}</span>
  </span>`;
}
