import type { JobEstimate, JobRequest, OpDefinition } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html } from '../html.ts';
import { useLoad } from '../parts/reading.ts';
import { countText } from '../parts/values.ts';
import { rowOfFormValues } from '../saved/row.ts';
import { jobRequestOf, type PlaygroundWork } from './work.ts';

/** The price of the work, as a dry run returned it. */
interface Price {
  credits: number;
  /** The number of results, which count against the allowance. */
  runs: number;
  /** Runs that are left of the allowance; -1 without a limit. */
  left?: number;
  /** The price of each segment of a chain. */
  steps: NonNullable<JobEstimate['steps']>;
}

/** The debounce of the price. It is longer than the usual pause between two keystrokes. */
const PRICE_DEBOUNCE_MS = 600;

/**
 * Shows the price of the work. It is estimated as a job, because the dry run of a job needs no picture. A pass costs
 * the same in a call and in a job.
 */
export function Price({ work, definition }: { work: PlaygroundWork; definition: OpDefinition | undefined }) {
  const { data } = useLoad((signal) => readPrice(work, definition, signal), [work]);
  if (data === undefined) return html`<span class="quiet">–</span>`;
  const { credits, runs, left, steps } = data;
  const counted = `${countText(runs)} ${runs === 1 ? 'run' : 'runs'}${left === undefined || left < 0 ? '' : ` of ${countText(left)} left`}`;
  return html`<span class="figure">${creditsText(credits)}</span>
    ${runs > 0 && html` <span class="quiet">${counted}</span>`}
    ${
      steps.length > 0 &&
      html`<ol class="prices">
        ${steps.map(({ index, type, op, credits }) => html`<li key=${index}>${op ?? type} <span class="figure">${creditsText(credits)}</span></li>`)}
      </ol>`
    }`;
}

async function readPrice(
  work: PlaygroundWork,
  definition: OpDefinition | undefined,
  signal: AbortSignal,
): Promise<Price> {
  await new Promise((resolve) => setTimeout(resolve, PRICE_DEBOUNCE_MS));
  signal.throwIfAborted();
  if (work.kind === 'template') {
    const request = { templateId: work.id, data: rowOfFormValues(work.data) };
    const { price } = await api.images.estimateRender(request, { signal });
    return { credits: price, runs: 1, steps: [] };
  }
  // An op that cannot run in a job, such as reading a picture's facts, is free.
  if (definition?.kind === 'sync') return { credits: 0, runs: 0, steps: [] };
  const estimate = await api.jobs.estimate(pricedJobOf(work, definition), { signal });
  const { credits, overageCredits, processCountLeft: left, totalItems, steps = [] } = estimate;
  const isModel = definition === undefined ? /^ai|parse/.test(estimate.type) : definition.kind === 'ai';
  const ofSteps = steps.reduce((sum, { processRuns }) => sum + processRuns, 0);
  const runs = steps.length > 0 ? ofSteps : isModel ? 0 : totalItems;
  return { credits: credits + overageCredits, runs, left, steps };
}

/** The job that does the same as the work, over one picture per result. */
function pricedJobOf(
  work: Exclude<PlaygroundWork, { kind: 'template' }>,
  definition: OpDefinition | undefined,
): JobRequest {
  switch (work.kind) {
    case 'preset':
      return { presetId: work.slug, imageCount: 1 };
    case 'op': {
      const request = jobRequestOf(work.op, work.values) as JobRequest;
      return { ...request, ...(definition?.requiresAssets !== false && { imageCount: 1 }) };
    }
    case 'steps': {
      const [first] = work.outputs;
      const one = first === undefined ? [] : [{ op: first.op, parameters: first.parameters }];
      const steps = [...work.steps, ...one] as NonNullable<JobRequest['steps']>;
      return { steps, imageCount: Math.max(1, work.outputs.length) };
    }
  }
}

function creditsText(credits: number): string {
  return `${countText(credits)} ${credits === 1 ? 'credit' : 'credits'}`;
}
