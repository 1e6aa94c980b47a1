import { invalidParam } from '../../../platform/http/errors/errors.ts';
import type { Models } from '../../models/models.ts';
import type { CheckedJob, CheckedWork, JobWork } from './checked-job.ts';
import { refuseFields } from './fields.ts';
import { checkOpJob } from './op-job.ts';
import { checkPresetJob, type StoredSteps } from './preset-job.ts';
import { checkJobSize } from './sizes.ts';
import { checkStepsJob } from './steps-job.ts';
import { referencesOf } from './subjects.ts';

export interface CheckRules {
  models: Models;
  /** The version that presetId names, already read from the store. */
  stored?: StoredSteps | undefined;
}

/** The types of jobs. */
export const JOB_TYPES = ['ai-generate', 'ai-edit', 'parse', 'process', 'render', 'chain'] as const;

/** The fields that define the work, each with the fields that must not be sent together with it. */
const EXCLUDED_BY_STEPS = [
  'op',
  'presetId',
  'model',
  'prompt',
  'parameters',
  'variants',
  'templateId',
  'items',
] as const;
const EXCLUDED_BY_PRESET = ['op', 'subjects', 'templateId', 'items'] as const;

/**
 * Checks the work of a job against the catalogue: op, type, steps, model, prompt, parameters, count, variants and
 * subjects, for a submit as for a dry run.
 * @throws ApiError invalid_param on the field at fault.
 */
export function checkJob(body: JobWork, rules: CheckRules): CheckedJob {
  refuseContradictions(body);
  const work = checkWork(body, rules);
  return { ...work, count: checkCount(work, body), references: referencesOf(work.subjects) };
}

function checkWork(body: JobWork, { models, stored }: CheckRules): CheckedWork {
  if (body.steps !== undefined) return checkStepsJob(body, body.steps, models);
  if (body.presetId !== undefined) {
    if (stored === undefined) throw new Error('The preset is read before the job is checked.');
    return checkPresetJob(body, stored, models);
  }
  if (body.subjects !== undefined) {
    throw invalidParam('subjects', 'subjects come with steps: leave them out, or send the op as a step.');
  }
  return checkOpJob(body, models);
}

/**
 * Refuses a job that defines its work twice. This check needs no look-up, so it is made first.
 * @throws ApiError invalid_param on the field that must not be sent.
 */
export function refuseContradictions(body: JobWork): void {
  checkType(body);
  checkJobSize(body);
  if (body.steps !== undefined)
    refuseFields(body, EXCLUDED_BY_STEPS, 'the steps say it themselves', { excludedBy: 'steps' });
  else if (body.presetId !== undefined)
    refuseFields(body, EXCLUDED_BY_PRESET, 'the preset decides', { excludedBy: 'presetId' });
}

function checkType({ type, op }: JobWork): void {
  if (type === undefined) return;
  const allowed: readonly string[] = JOB_TYPES;
  if (!allowed.includes(type)) {
    const message = `type is ${JSON.stringify(type)}: use one of ${allowed.join(', ')}.`;
    throw invalidParam('type', message, { received: type, allowed });
  }
  if (op !== undefined) throw invalidParam('type', 'Send either op or type: op already implies the type.');
}

const MAX_COUNT = 10;

/** Only work without assets can have a count. */
function checkCount({ takes }: CheckedWork, { count = 1, assetIds }: JobWork): number {
  if (!Number.isInteger(count) || count < 1 || count > MAX_COUNT) {
    const message = `count is ${JSON.stringify(count)}, but a whole number from 1 to ${MAX_COUNT} is expected.`;
    throw invalidParam('count', message, { received: count, min: 1, max: MAX_COUNT });
  }
  if (count > 1 && takes !== 'nothing') {
    const message = 'count is for generate alone: leave it out, and send an asset for each item.';
    throw invalidParam('count', message, { received: count, max: 1 });
  }
  if (takes !== 'assets' && assetIds !== undefined && assetIds.length > 0) {
    const instead = takes === 'rows' ? 'send items' : 'send count for several, or run edit on them';
    throw invalidParam('assetIds', `assetIds must be left out: this job takes no pictures; ${instead}.`);
  }
  return count;
}
