import { isDeepStrictEqual } from 'node:util';
import { invalidParam } from '../../platform/http/errors/errors.ts';
import { isReservedSlug, isSlug, slugRefusal } from '../../platform/ids/slugs.ts';
import { present } from '../../platform/values/present.ts';
import { stepInOwnSpelling } from '../catalogue/checks/spelling.ts';
import { type CheckedSteps, checkSteps, type NamedAsset } from '../catalogue/plan/compile.ts';
import { checkStepSizes } from '../catalogue/plan/sent-job.ts';
import { sentSteps } from '../catalogue/plan/sent-step.ts';
import { readSubjects } from '../catalogue/plan/subjects.ts';
import type { Models } from '../models/models.ts';
import type { AnswerSchemas } from '../providers/answer-schemas.ts';
import type { Preset, PresetContent } from './preset.ts';
import { MAX_PRESET_SLUG_CHARACTERS, type NewPreset, type PresetChange } from './schema.ts';
import type { Revision } from './store.ts';

/** Returns those of the given ids that are not DONE assets of the account. */
export type MissingAssets = (accountId: string, assetIds: readonly string[]) => Promise<string[]>;

/** The rules for steps and subjects. */
export interface ContentRules {
  models: Models;
  missingAssets: MissingAssets;
  answerSchemas: Pick<AnswerSchemas, 'check'>;
}

/**
 * The largest steps and subjects of a version as JSON. An account may have a thousand presets, which are listed without
 * pages.
 */
const MAX_CONTENT_BYTES = 512 * 1024;

/** Content as sent, which are not checked yet. */
export type SentContent = Pick<NewPreset, 'steps' | 'subjects' | 'widths' | 'fallback'>;

/** An asset that a version names, and the parameter to name in an error. */
type VersionAsset = Pick<NamedAsset, 'assetId' | 'param'>;

/**
 * A version that is valid by all rules. The existence of its assets is still to be checked, and its answer schemas are
 * still to be compiled.
 */
export interface ReadContent extends Pick<CheckedSteps, 'schemas'> {
  content: PresetContent;
  named: VersionAsset[];
}

/**
 * Checks a new preset completely, except whether its slug is free.
 * @throws ApiError invalid_param on the field, step or parameter at fault.
 */
export async function checkedNew(
  sent: NewPreset,
  accountId: string,
  rules: ContentRules,
): Promise<PresetContent> {
  checkNames(sent);
  return checkedContent(sent, accountId, rules);
}

/**
 * Checks the fields of a change by all rules that need no store.
 * @throws ApiError invalid_param on the field, step or parameter at fault.
 */
export function checkChange(change: PresetChange, models: Models): void {
  checkNames(change);
  const { steps, subjects, widths, fallback } = change;
  if (steps !== undefined) readContent({ steps, ...present({ subjects, widths, fallback }) }, models);
}

/**
 * Checks the content of one version completely, so that it can run.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export async function checkedContent(
  sent: SentContent,
  accountId: string,
  { models, missingAssets, answerSchemas }: ContentRules,
  where = '',
): Promise<PresetContent> {
  const { content, named, schemas } = readContent(sent, models, where);
  await checkNamedAssets(named, accountId, missingAssets);
  await answerSchemas.check(accountId, schemas);
  return content;
}

/**
 * Checks the content of one version by all rules, except for the existence of its assets.
 * @param where the prefix of the field names: '', or `versions[2].` for an earlier version.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export function readContent(sent: SentContent, models: Models, where = ''): ReadContent {
  checkStepSizes(sent.steps, `${where}steps`);
  const steps = sent.steps.map(stepInOwnSpelling);
  const sentList = sentSteps(steps, `${where}steps`);
  const { subjects, named, schemas } = checkSteps(sentList, sent.subjects ?? [], models, `${where}subjects`);
  const { widths, fallback } = sent;
  checkWidths(widths, `${where}widths`);
  checkSize({ steps, subjects }, where);
  const ofFallback =
    fallback === undefined ? [] : [{ assetId: fallback.assetId, param: `${where}fallback.assetId` }];
  const content = { steps, subjects, ...present({ widths, fallback }) };
  return { content, named: [...named, ...ofFallback], schemas };
}

/**
 * Merges a PUT into the current preset: sent fields replace current ones. Null when nothing changes. Unchanged steps
 * and subjects are not checked again, so that a rename works although one of their assets was deleted.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export async function checkRevision(
  current: Preset,
  change: PresetChange,
  accountId: string,
  rules: ContentRules,
): Promise<{ revision: Revision; isNewVersion: boolean } | null> {
  const before = fieldsOf(current);
  const subjects =
    change.subjects === undefined ? before.subjects : readSubjects(change.subjects, 'subjects');
  const sent = { ...before, ...change, subjects };
  const steps = sent.steps.map(stepInOwnSpelling);
  // The stored forms are compared, because JSON has no -0.
  const revision: Revision = JSON.parse(JSON.stringify(fieldsOf({ ...sent, steps })));
  if (isDeepStrictEqual(revision, before)) return null;
  const isNewVersion = !isDeepStrictEqual(
    [revision.steps, revision.subjects, revision.widths, revision.fallback],
    [before.steps, before.subjects, before.widths, before.fallback],
  );
  if (isNewVersion) await checkedContent(revision, accountId, rules);
  return { revision, isNewVersion };
}

function fieldsOf({ slug, name, description, steps, subjects, widths, fallback }: Revision): Revision {
  return { slug, name, description, steps, subjects, ...present({ widths, fallback }) };
}

/** @throws ApiError invalid_param on `param` for widths that do not ascend. */
export function checkWidths(widths: readonly number[] | undefined, param: string): void {
  const at = widths?.findIndex((width, index) => index > 0 && width <= (widths[index - 1] ?? 0)) ?? -1;
  if (at === -1) return;
  const message = `${param} must ascend, each width once: ${widths?.[at]} stands behind ${widths?.[at - 1]}.`;
  throw invalidParam(param, message, { received: widths });
}

/**
 * Refuses a version that names anything but DONE assets of the account.
 * @throws ApiError invalid_param on the first parameter at fault, with its ids in details.missing.
 */
export async function checkNamedAssets(
  named: readonly VersionAsset[],
  accountId: string,
  missingAssets: MissingAssets,
): Promise<void> {
  if (named.length === 0) return;
  const ids = named.map(({ assetId }) => assetId);
  const absent = new Set(await missingAssets(accountId, ids));
  const refused = named.filter(({ assetId }) => absent.has(assetId));
  const param = refused[0]?.param;
  if (param === undefined) return;
  const missing = refused.filter((asset) => asset.param === param).map(({ assetId }) => assetId);
  const message = `${param} refers to ${missing.join(', ')}: send ids of your own assets with status DONE.`;
  throw invalidParam(param, message, { missing });
}

/** @throws ApiError invalid_param on name or slug. */
export function checkNames({ name, slug }: PresetChange): void {
  if (name !== undefined) checkName(name);
  if (slug !== undefined) checkSlug(slug);
}

/** @throws ApiError invalid_param on name. */
export function checkName(name: string): void {
  if (name.trim() === '') throw invalidParam('name', 'name is missing or blank: send one.');
}

/**
 * Refuses a reserved slug; the schema checks its form.
 * @throws ApiError invalid_param on slug.
 */
export function checkSlug(slug: string): void {
  const refusal = slugRefusal(slug, 'presets');
  if (refusal !== null) throw invalidParam('slug', refusal);
}

/** Whether the account may use the slug of an imported preset. Any other slug is ignored. */
export function isOwnSlug(sent: unknown): sent is string {
  return typeof sent === 'string' && isSlug(sent, MAX_PRESET_SLUG_CHARACTERS) && !isReservedSlug(sent);
}

function checkSize(content: PresetContent, where: string): void {
  const sizeBytes = Buffer.byteLength(JSON.stringify(content));
  if (sizeBytes <= MAX_CONTENT_BYTES) return;
  const message = `The steps and subjects are ${sizeBytes} bytes of JSON: at most ${MAX_CONTENT_BYTES} are allowed.`;
  throw invalidParam(`${where}steps`, message, { limit: MAX_CONTENT_BYTES, received: sizeBytes });
}
