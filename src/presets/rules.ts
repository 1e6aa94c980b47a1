import { invalidParam } from '../http/errors.ts';
import type { Models } from '../models/models.ts';
import { isReservedSlug, RESERVED_PREFIX } from '../names/slugs.ts';
import type { Content } from './preset.ts';
import type { PresetStep } from './schema.ts';
import { compileSteps } from './steps.ts';
import { checkReferences, checkSubjectsAreUsed, type MissingAssets, readSubjects } from './subjects.ts';

/** What steps and subjects are held against. */
export interface ContentRules {
  models: Models;
  missingAssets: MissingAssets;
}

/** Largest steps and subjects of a version, as JSON: an account may hold a thousand presets, and lists them unpaged. */
const CONTENT_MAX_BYTES = 64 * 1024;

/**
 * The content of one version, once it is known to run.
 * @param where goes before the names of the fields: '', or `versions[2].` for an earlier version.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export async function checkedContent(
  sent: { steps: PresetStep[]; subjects?: readonly unknown[] | undefined },
  accountId: string,
  { models, missingAssets }: ContentRules,
  where = '',
): Promise<Content> {
  const { steps } = sent;
  compileSteps(steps, models, `${where}steps`);
  const subjects = readSubjects(sent.subjects ?? [], `${where}subjects`);
  checkSubjectsAreUsed(steps, subjects, where);
  checkSize({ steps, subjects }, where);
  await checkReferences(subjects, accountId, missingAssets, `${where}subjects`);
  return { steps, subjects };
}

/** @throws ApiError invalid_param on name. */
export function checkName(name: string): void {
  if (name.trim() === '') throw invalidParam('name', 'name is missing or blank: send one.');
}

/**
 * Refuses a slug that only built-ins may have; its form is the schema's.
 * @throws ApiError invalid_param on slug.
 */
export function checkSlug(slug: string): void {
  if (!isReservedSlug(slug)) return;
  const message = `slug must not begin with "${RESERVED_PREFIX}", which is kept for built-in presets.`;
  throw invalidParam('slug', message);
}

function checkSize(content: Content, where: string): void {
  const sizeBytes = Buffer.byteLength(JSON.stringify(content));
  if (sizeBytes <= CONTENT_MAX_BYTES) return;
  const message = `The steps and subjects are ${sizeBytes} bytes of JSON: at most ${CONTENT_MAX_BYTES} are allowed.`;
  throw invalidParam(`${where}steps`, message, { limit: CONTENT_MAX_BYTES, received: sizeBytes });
}
