import { invalidParam } from '../../../platform/http/errors.ts';
import type { Models } from '../../models/models.ts';
import type { CheckedJob, JobWork } from './checked-job.ts';
import { assetsOfSteps, assetsOfSubjects } from './named-assets.ts';
import { checkOpJob, opOf } from './op-job.ts';
import { planOf } from './plan.ts';
import { checkPresetJob, type StoredSteps } from './preset-job.ts';
import { checkJobSize } from './sizes.ts';
import type { PresetStep } from './step.ts';
import { compileSteps, schemasOfSteps } from './steps.ts';
import { jobOfSteps } from './steps-job.ts';
import { checkSubjectsAreUsed, readSubjects } from './subjects.ts';

export interface CheckRules {
  models: Models;
  /** The version that presetId names, already read from the store. */
  stored?: StoredSteps | undefined;
}

/** The types of jobs. */
export const JOB_TYPES = ['ai-generate', 'ai-edit', 'parse', 'process', 'render', 'chain'] as const;

/** The fields that define the work, each with the fields that must not be sent together with it. */
const BESIDE_STEPS = [
  'op',
  'presetId',
  'model',
  'prompt',
  'parameters',
  'variants',
  'templateId',
  'items',
] as const;
const BESIDE_PRESET = ['op', 'subjects', 'templateId', 'items'] as const;

/**
 * Checks the work of a job against the catalogue: op, type, steps, model, prompt, parameters, count, variants and
 * subjects, for a submit as for a dry run.
 * @throws ApiError invalid_param on the field at fault.
 */
export function checkJob(body: JobWork, rules: CheckRules): CheckedJob {
  refuseContradictions(body);
  if (body.steps !== undefined) {
    return withCount(checkSteps(body, body.steps, rules.models), body);
  }
  if (body.presetId !== undefined) {
    if (rules.stored === undefined) throw new Error('The preset is read before the job is checked.');
    return withCount(checkPresetJob(body, rules.stored, rules.models), body);
  }
  if (body.subjects !== undefined) {
    throw invalidParam('subjects', 'subjects come with steps: leave them out, or send the op as a step.');
  }
  return withCount(checkOpJob(body, opOf(body), rules.models), body);
}

/**
 * Refuses a job that defines its work twice. This check needs no look-up, so it is made first.
 * @throws ApiError invalid_param on the field that must not be sent.
 */
export function refuseContradictions(body: JobWork): void {
  checkType(body);
  checkJobSize(body);
  if (body.steps !== undefined) refuseBeside(body, BESIDE_STEPS, 'steps', 'the steps say it themselves');
  else if (body.presetId !== undefined) refuseBeside(body, BESIDE_PRESET, 'presetId', 'the preset decides');
}

/** A list of steps that is run once. */
function checkSteps(body: JobWork, steps: readonly PresetStep[], models: Models): CheckedJob {
  const compiled = compileSteps(steps, models);
  const subjects = readSubjects(body.subjects ?? [], 'subjects');
  checkSubjectsAreUsed(compiled, subjects, models);
  return {
    ...jobOfSteps(body, compiled, subjects, 'these steps run'),
    variants: [{ parameters: {}, segments: planOf(compiled) }],
    named: [...assetsOfSteps(steps, compiled, 'steps'), ...assetsOfSubjects(subjects, 'subjects')],
    schemas: schemasOfSteps(compiled, 'steps'),
  };
}

function checkType({ type, op }: JobWork): void {
  if (type === undefined) return;
  const allowed: readonly string[] = JOB_TYPES;
  if (!allowed.includes(type)) {
    const message = `type is ${JSON.stringify(type)}: use one of ${allowed.join(', ')}.`;
    throw invalidParam('type', message, { received: type, allowed });
  }
  if (op !== undefined)
    throw invalidParam('type', 'type stands beside op, which decides it: leave type out.');
}

function refuseBeside(body: JobWork, fields: readonly (keyof JobWork)[], named: string, why: string): void {
  const sent = fields.find((field) => body[field] !== undefined);
  if (sent === undefined) return;
  throw invalidParam(sent, `${sent} must be left out beside ${named}: ${why}.`);
}

const COUNT_MAX = 10;

/** Only work without assets can have a count. */
function withCount(job: CheckedJob, { count = 1, assetIds }: JobWork): CheckedJob {
  if (!Number.isInteger(count) || count < 1 || count > COUNT_MAX) {
    const message = `count is ${JSON.stringify(count)}, but a whole number from 1 to ${COUNT_MAX} is expected.`;
    throw invalidParam('count', message, { received: count, min: 1, max: COUNT_MAX });
  }
  if (count > 1 && job.takes !== 'nothing') {
    const message = 'count is for generate alone: leave it out, and send an asset for each item.';
    throw invalidParam('count', message, { received: count, max: 1 });
  }
  if (job.takes !== 'assets' && assetIds !== undefined && assetIds.length > 0) {
    const instead = job.takes === 'rows' ? 'send items' : 'send count for several, or run edit on them';
    throw invalidParam('assetIds', `assetIds must be left out: this job takes no pictures; ${instead}.`);
  }
  return { ...job, count };
}
