import { isDeepStrictEqual } from 'node:util';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { isReservedSlug, isSlug } from '../../platform/ids/slugs.ts';
import { refuseReservedSlug } from '../../platform/named-documents.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { normalizeStepSpelling } from '../catalogue/checks/spelling.ts';
import { checkStepSizes, sentSteps } from '../catalogue/plan/step.ts';
import { type CheckedSteps, checkSteps, type NamedAsset, parseSubjects } from '../catalogue/plan/subjects.ts';
import type { ModelsFile } from '../models/models.ts';
import type { AnswerSchemaChecker } from '../providers/answers.ts';
import type { Preset, PresetContent } from './preset.ts';
import { MAX_PRESET_SLUG_CHARACTERS, type NewPreset, type PresetChange } from './schema.ts';
import { PRESET_KIND, type PresetRevision } from './store.ts';

/** Finds which of these ids are not DONE assets of the account. */
export type FindMissingAssets = (accountId: string, assetIds: readonly string[]) => Promise<string[]>;

/** What the checks of steps and subjects need. */
export interface PresetContentRules {
  models: ModelsFile;
  findMissingAssets: FindMissingAssets;
  answerSchemas: Pick<AnswerSchemaChecker, 'check'>;
}

/**
 * The maximum size of a version's content, as bytes of JSON. It protects the store, and the list of all presets, of
 * which an account may have a thousand. Most presets take less than a kilobyte.
 */
const MAX_PRESET_CONTENT_BYTES = 512 * 1024;

/** The content of a preset as it was sent, before it is checked. */
type RequestedPresetContent = Pick<NewPreset, 'steps' | 'subjects' | 'widths' | 'fallback'>;

/** An asset that a version uses, and the parameter to name in errors about it. */
type VersionAsset = Pick<NamedAsset, 'assetId' | 'param'>;

/**
 * A version that satisfies all rules that need no store. Its assets must still be looked up, and its answer schemas
 * must still be compiled.
 */
export interface ParsedPresetContent extends Pick<CheckedSteps, 'schemas'> {
  content: PresetContent;
  named: VersionAsset[];
}

/**
 * Checks a new preset completely, except whether its slug is still free, and returns its content.
 * @throws ApiError invalid_param on the field, step or parameter at fault.
 */
export async function parseNewPreset(
  sent: NewPreset,
  accountId: string,
  rules: PresetContentRules,
): Promise<PresetContent> {
  checkPresetNames(sent);
  return parseRunnablePresetContent(sent, accountId, rules);
}

/**
 * Checks the fields of a change against all rules that need no store.
 * @throws ApiError invalid_param on the field, step or parameter at fault.
 */
export function checkPresetChange(change: PresetChange, models: ModelsFile): void {
  checkPresetNames(change);
  const { steps, subjects, widths, fallback } = change;
  if (steps !== undefined)
    parsePresetContent({ steps, ...withoutAbsentFields({ subjects, widths, fallback }) }, models);
}

/**
 * Checks the content of one version against all rules, so that it can run, and returns it in its stored form.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export async function parseRunnablePresetContent(
  sent: RequestedPresetContent,
  accountId: string,
  { models, findMissingAssets, answerSchemas }: PresetContentRules,
  where = '',
): Promise<PresetContent> {
  const { content, named, schemas } = parsePresetContent(sent, models, where);
  await refuseMissingAssets(named, accountId, findMissingAssets);
  await answerSchemas.check(accountId, schemas);
  return content;
}

/**
 * Checks the content of one version against all rules that need no store and no compiler.
 * @param where the prefix of the field names: '', or `versions[2].` for an earlier version.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export function parsePresetContent(
  sent: RequestedPresetContent,
  models: ModelsFile,
  where = '',
): ParsedPresetContent {
  checkStepSizes(sent.steps, `${where}steps`);
  const steps = sent.steps.map(normalizeStepSpelling);
  const sentList = sentSteps(steps, `${where}steps`);
  const { subjects, namedAssets, schemas } = checkSteps(
    sentList,
    sent.subjects ?? [],
    models,
    `${where}subjects`,
  );
  const { widths, fallback } = sent;
  checkPresetWidths(widths, `${where}widths`);
  checkContentSize({ steps, subjects }, where);
  const ofFallback =
    fallback === undefined ? [] : [{ assetId: fallback.assetId, param: `${where}fallback.assetId` }];
  const content = { steps, subjects, ...withoutAbsentFields({ widths, fallback }) };
  return { content, named: [...namedAssets, ...ofFallback], schemas };
}

/**
 * Applies a PUT to the current preset: sent fields replace current ones. Returns null when nothing changes. Unchanged
 * steps and subjects are not checked again, so that a preset can be renamed even if one of its assets was deleted.
 * @throws ApiError invalid_param on the step, field or parameter at fault, or on subjects.
 */
export async function applyPresetChange(
  current: Preset,
  change: PresetChange,
  accountId: string,
  rules: PresetContentRules,
): Promise<{ revision: PresetRevision; isNewVersion: boolean } | null> {
  const before = revisionFieldsOf(current);
  const subjects =
    change.subjects === undefined ? before.subjects : parseSubjects(change.subjects, 'subjects');
  const sent = { ...before, ...change, subjects };
  const steps = sent.steps.map(normalizeStepSpelling);
  // The new content is compared in its stored form, because JSON changes some values, such as -0 to 0.
  const revision: PresetRevision = JSON.parse(JSON.stringify(revisionFieldsOf({ ...sent, steps })));
  if (isDeepStrictEqual(revision, before)) return null;
  const isNewVersion = !isDeepStrictEqual(
    [revision.steps, revision.subjects, revision.widths, revision.fallback],
    [before.steps, before.subjects, before.widths, before.fallback],
  );
  if (isNewVersion) await parseRunnablePresetContent(revision, accountId, rules);
  return { revision, isNewVersion };
}

function revisionFieldsOf(revision: PresetRevision): PresetRevision {
  const { slug, name, description, steps, subjects, widths, fallback } = revision;
  return { slug, name, description, steps, subjects, ...withoutAbsentFields({ widths, fallback }) };
}

/**
 * Refuses widths that are not in ascending order.
 * @throws ApiError invalid_param on `param`.
 */
export function checkPresetWidths(widths: readonly number[] | undefined, param: string): void {
  const at = widths?.findIndex((width, index) => index > 0 && width <= (widths[index - 1] ?? 0)) ?? -1;
  if (at === -1) return;
  const message = `${param} must ascend, each width once: ${widths?.[at]} stands behind ${widths?.[at - 1]}.`;
  const replace = [...new Set(widths)].toSorted((one, other) => one - other);
  throw invalidParamError(param, message, { received: widths }, [{ param, replace }]);
}

/**
 * Refuses a version if one of its assets is not a DONE asset of the account.
 * @throws ApiError invalid_param on the first parameter at fault, with its ids in details.missing.
 */
export async function refuseMissingAssets(
  named: readonly VersionAsset[],
  accountId: string,
  findMissingAssets: FindMissingAssets,
): Promise<void> {
  if (named.length === 0) return;
  const ids = named.map(({ assetId }) => assetId);
  const absent = new Set(await findMissingAssets(accountId, ids));
  const refused = named.filter(({ assetId }) => absent.has(assetId));
  const param = refused[0]?.param;
  if (param === undefined) return;
  const missing = refused.filter((asset) => asset.param === param).map(({ assetId }) => assetId);
  const message = `${param} refers to ${missing.join(', ')}: send ids of your own assets with status DONE.`;
  throw invalidParamError(param, message, { missing });
}

/**
 * Checks the name and the slug, if they are sent.
 * @throws ApiError invalid_param on name or slug.
 */
export function checkPresetNames({ name, slug }: PresetChange): void {
  if (name !== undefined) checkPresetName(name);
  if (slug !== undefined) refuseReservedSlug(PRESET_KIND, slug);
}

/** @throws ApiError invalid_param on name. */
export function checkPresetName(name: string): void {
  if (name.trim() === '') throw invalidParamError('name', 'name is missing or blank: send one.');
}

/** Whether an imported preset may have the slug that was sent. If not, the slug is ignored. */
export function isUsablePresetSlug(sent: unknown): sent is string {
  return typeof sent === 'string' && isSlug(sent, MAX_PRESET_SLUG_CHARACTERS) && !isReservedSlug(sent);
}

function checkContentSize(content: PresetContent, where: string): void {
  const sizeBytes = Buffer.byteLength(JSON.stringify(content));
  if (sizeBytes <= MAX_PRESET_CONTENT_BYTES) return;
  const message = `The steps and subjects are ${sizeBytes} bytes of JSON: at most ${MAX_PRESET_CONTENT_BYTES} are allowed.`;
  throw invalidParamError(`${where}steps`, message, { limit: MAX_PRESET_CONTENT_BYTES, received: sizeBytes });
}
