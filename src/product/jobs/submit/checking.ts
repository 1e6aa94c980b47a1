import { setImmediate as nextTurn } from 'node:timers/promises';
import { previewPasses } from '../../../imaging/images/preview.ts';
import { ApiError, exclusiveFieldError, invalidParamError } from '../../../platform/http/errors/errors.ts';
import { isJsonObject } from '../../../platform/values/json.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { Caller } from '../../accounts/authentication.ts';
import type { JobAssets } from '../../assets/open.ts';
import { checkCollectionName } from '../../assets/rules.ts';
import type { AssetsStore } from '../../assets/store.ts';
import {
  type NamedAsset,
  promptWithDescriptors,
  subjectReferencesOf,
} from '../../catalogue/plan/subjects.ts';
import type { ModelsFile } from '../../models/models.ts';
import type { PresetsSlice } from '../../presets/open.ts';
import type { FoundPreset } from '../../presets/reading.ts';
import type { AnswerSchemaChecker } from '../../providers/answers.ts';
import type { TemplatesSlice } from '../../templates/open.ts';
import { creditsPerVariantItem, type JobDefinition, runsPerItem } from '../definitions.ts';
import {
  additionalAssetMissingError,
  additionalAssetUnreadyError,
  assetsMissingError,
  assetUnreadyError,
  referenceMissingError,
} from '../errors.ts';
import { parseCreationWindow } from '../filters.ts';
import type { ModelSegment } from '../plan.ts';
import { type JobRequest, MAX_JOB_ITEMS } from '../schema.ts';
import type { JobOrder, JobOrderFields, NewItemFields } from './order.ts';
import { type CheckedWork, checkCount, checkJobFields, checkWork, jobWithLiftedFields } from './work.ts';

export interface JobCheckDependencies {
  models: ModelsFile;
  presets: Pick<PresetsSlice, 'find'>;
  templates: Pick<TemplatesSlice, 'findForRender'>;
  assets: JobAssets;
  answerSchemas: AnswerSchemaChecker;
}

/** A submit, with the assets, the preset and the template to which it refers. */
interface FoundSubmit {
  body: JobRequest;
  work: CheckedWork;
  /** The number of items per variant, for a job without input assets. */
  count: number;
  collection: string | null;
  preset: FoundPreset | null;
  template: JobDefinition['template'];
  assetIds: readonly string[];
  /** How many images a dry run assumes when it contains no assets. */
  imageCount: number;
  /** The rows of a render as JSON text; none in a dry run. */
  rows: readonly string[];
}

/**
 * Finds and checks everything to which a submit or a dry run refers, and makes an order of it. Credits and storage are
 * checked later, when the order is submitted.
 */
export async function checkJobSubmit(
  { accountId }: Caller,
  sent: JobRequest,
  isDryRun: boolean,
  options: JobCheckDependencies,
): Promise<JobOrder> {
  const { models, presets, assets, answerSchemas } = options;
  refuseRemovedFields(sent);
  const body = jobWithLiftedFields(sent);
  checkRows(body);
  const collection =
    body.collection === undefined ? null : checkCollectionName(body.collection, 'collection');
  checkJobFields(body);
  const { presetId, from } = body;
  const preset = presetId === undefined ? null : await presets.find(accountId, presetId, 'presetId');
  const work = checkWork(body, models, preset?.version);
  const count = checkCount(body, work);
  const imageCount = checkImageCount(body, work, isDryRun);
  if (from !== undefined) refuseOtherInputs(body, work);
  const sentIds = from === undefined ? checkAssetIds(body, work, imageCount) : [];
  const template = await findTemplate(accountId, work, body, options);
  await requireVisibleAssets(accountId, sentIds, work.named, assets);
  const assetIds = from === undefined ? sentIds : await selectJobAssets(accountId, from, assets.store);
  await refuseImpossibleWork(accountId, work, assetIds, assets);
  await answerSchemas.check(accountId, work.schemas);
  const rows = work.takes === 'rows' && !isDryRun ? await serializeRows(body.items ?? []) : [];
  return orderOf({ body, work, count, collection, preset, template, assetIds, imageCount, rows });
}

/** The template of a render, at its current version. */
async function findTemplate(
  accountId: string,
  { takes }: CheckedWork,
  { templateId }: JobRequest,
  { templates }: JobCheckDependencies,
) {
  if (takes !== 'rows' || templateId === undefined) return undefined;
  const { id, version } = await templates.findForRender(accountId, templateId);
  return { id, version };
}

async function requireVisibleAssets(
  accountId: string,
  assetIds: readonly string[],
  named: readonly NamedAsset[],
  assets: JobAssets,
): Promise<void> {
  const ids = [...assetIds, ...named.map(({ assetId }) => assetId)];
  if (ids.length === 0) return;
  const statuses = await assets.store.findStatuses(accountId, ids);
  const missing = [...new Set(assetIds)].filter((id) => !statuses.has(id));
  if (missing.length > 0) throw assetsMissingError(missing);
  const unready = assetIds.findIndex((id) => statuses.get(id) !== 'DONE');
  if (unready !== -1) throw assetUnreadyError(unready, statuses.get(assetIds[unready] ?? '') ?? 'FAILED');
  for (const { assetId, param, role } of named) {
    const status = statuses.get(assetId);
    if (status === 'DONE') continue;
    if (role === 'reference') throw referenceMissingError(param, [assetId]);
    throw status === undefined
      ? additionalAssetMissingError(param, assetId)
      : additionalAssetUnreadyError(param, assetId, status);
  }
}

/**
 * The maximum number of assets whose headers a submit checks against the work. With more assets, the submit would take
 * too long, so none is checked.
 */
const MAX_CHECKED_ASSETS = 20;

/**
 * Refuses a job if the headers of its assets show that every item would fail. If one item can succeed, the job is
 * accepted, and the other items fail one by one.
 * @throws ApiError the error of a synchronous call with the first asset and variant.
 */
async function refuseImpossibleWork(
  accountId: string,
  { firstPasses }: CheckedWork,
  assetIds: readonly string[],
  assets: JobAssets,
): Promise<void> {
  if (firstPasses.length === 0 || assetIds.length > MAX_CHECKED_ASSETS) return;
  let refusal: ApiError | undefined;
  for (const assetId of assetIds) {
    const file = await assets.reader.find(accountId, assetId, 'assetIds');
    const previews = await previewPasses({ bytes: file }, firstPasses).catch((error: unknown) => {
      if (error instanceof ApiError) return [error];
      throw error;
    });
    const refusals = previews.flatMap((preview) => (preview instanceof ApiError ? [preview] : []));
    if (refusals.length < previews.length) return;
    refusal ??= refusals[0];
  }
  if (refusal !== undefined) throw refusal;
}

/** How many characters of rows are serialized before the event loop serves other calls. */
const ROW_CHARACTERS_PER_TURN = 512 * 1024;

async function serializeRows(rows: readonly unknown[]): Promise<string[]> {
  const texts: string[] = [];
  let characters = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    texts.push(text);
    characters += text.length;
    if (characters < ROW_CHARACTERS_PER_TURN) continue;
    characters = 0;
    await nextTurn();
  }
  return texts;
}

/** Makes the order of a checked submit: the work, the inputs and the price. */
function orderOf(found: FoundSubmit): JobOrder {
  const { body, work, count, collection, preset, template, assetIds, imageCount, rows } = found;
  const { takes, produces, variants, subjects } = work;
  const model = modelSegmentOf(work);
  const definition: JobDefinition = {
    takes,
    produces,
    ...withoutAbsentFields({
      steps: body.steps,
      prompt: model?.prompt && promptWithDescriptors(model.prompt, subjects),
      parameters: parametersOf(body, work, model),
    }),
    count,
    variants,
    subjects,
    references: subjectReferencesOf(subjects),
    ...withoutAbsentFields({ template }),
  };
  const itemCounts = {
    assets: assetIds.length + imageCount,
    rows: body.items?.length ?? 0,
    nothing: count,
  };
  const perVariant = itemCounts[takes];
  const head: JobOrderFields = {
    type: work.type,
    op: work.op ?? null,
    model: model?.model ?? null,
    collection,
    presetId: preset?.preset._id ?? null,
    presetVersion: preset?.version.version ?? null,
    presetName: preset?.preset.name ?? nameWithoutPreset(body, work),
  };
  const totalItems = perVariant * variants.length;
  return {
    head,
    definition,
    totalItems,
    need: {
      runs: perVariant * variants.reduce((sum, variant) => sum + runsPerItem(variant), 0),
      credits: perVariant * variants.reduce((sum, variant) => sum + creditsPerVariantItem(variant), 0),
    },
    maxOutputs: produces === 'image' ? totalItems : 0,
    iterateItems: () => seedsOf(definition, assetIds, rows),
    warnings: work.warnings,
    maxCredits: body.maxCredits,
  };
}

function refuseRemovedFields({ mode }: JobRequest): void {
  if (mode === undefined) return;
  const message = 'mode was removed: leave it out, and send wait to wait for the end.';
  throw invalidParamError('mode', message, undefined, [{ param: 'mode', remove: true }]);
}

/** Checks the rows of a render, which draws one page per row. The schema of the op limits their number. */
function checkRows({ items = [] }: JobRequest): void {
  const index = items.findIndex((row) => typeof row !== 'object' || row === null || Array.isArray(row));
  if (index === -1) return;
  const message = `items[${index}] is not an object: a row names the values of the template's variables.`;
  throw invalidParamError(`items[${index}]`, message, { index });
}

function checkImageCount({ imageCount }: JobRequest, { takes }: CheckedWork, isDryRun: boolean): number {
  if (imageCount === undefined) return 0;
  if (!isDryRun)
    throw invalidParamError('imageCount', 'imageCount is for a dry run: send dryRun=true, or assetIds.', {
      suggest: ['dryRun', 'assetIds'],
    });
  if (takes !== 'assets') {
    const message = 'imageCount stands for assets, and this job takes none: leave it out.';
    throw invalidParamError('imageCount', message, undefined, [{ param: 'imageCount', remove: true }]);
  }
  if (Number.isInteger(imageCount) && imageCount >= 0 && imageCount <= MAX_JOB_ITEMS) return imageCount;
  const message = `imageCount must be a whole number from 0 to ${MAX_JOB_ITEMS}.`;
  throw invalidParamError('imageCount', message, { received: imageCount, min: 0, max: MAX_JOB_ITEMS });
}

/** Checks the asset ids in the request, and returns them. A repeated id makes several items. */
function checkAssetIds(
  { assetIds = [], collection }: JobRequest,
  { takes }: CheckedWork,
  imageCount: number,
): string[] {
  const ids = assetIds.map((id, index) => {
    if (typeof id === 'string' && id.trim() !== '') return id;
    const message = `assetIds[${index}] is not an id: send ids of your own assets.`;
    const inObjects = assetIds.flatMap((one) =>
      isJsonObject(one) && typeof one.id === 'string' ? one.id : [],
    );
    const isCertain = inObjects.length === assetIds.length;
    const corrections = isCertain ? [{ param: 'assetIds', replace: inObjects }] : [];
    throw invalidParamError('assetIds', message, { index }, corrections);
  });
  const count = ids.length + imageCount;
  if (count > MAX_JOB_ITEMS) {
    const message = `assetIds has ${count} entries: at most ${MAX_JOB_ITEMS} are allowed in one job.`;
    throw invalidParamError('assetIds', message, { limit: MAX_JOB_ITEMS, received: count });
  }
  if (takes === 'assets' && count === 0) {
    const message = `assetIds is missing: send the ids of the assets to work on, or from to select them${collectionSelectionHint(collection)}.`;
    throw invalidParamError('assetIds', message, { missing: ['assetIds'], suggest: ['assetIds', 'from'] });
  }
  return ids;
}

/**
 * The end of the message about missing assets. If the caller sent `collection`, which is for the results, it says how
 * to select images by a collection.
 */
function collectionSelectionHint(collection: string | undefined): string {
  if (collection === undefined) return '';
  return `: collection is where the results go, and from: {"collection": ${JSON.stringify(collection)}} takes the images of one`;
}

/** The only segment of a job in which each item is one run of a model; undefined for any other job. */
function modelSegmentOf({ type, variants }: CheckedWork): ModelSegment | undefined {
  const [segment] = variants[0]?.segments ?? [];
  return type !== 'chain' && segment?.runs === 'model' ? segment : undefined;
}

function parametersOf(
  { presetId, steps, parameters = {} }: JobRequest,
  { type }: CheckedWork,
  model: ModelSegment | undefined,
) {
  if (type === 'chain' || type === 'render' || steps !== undefined) return undefined;
  return presetId === undefined ? parameters : model?.parameters;
}

function nameWithoutPreset({ steps }: JobRequest, { op, type }: CheckedWork): string | null {
  if (steps !== undefined || type === 'render') return null;
  return op === undefined ? 'Ad-hoc' : `op:${op}`;
}

/** The items in order: asset by asset, and the variants in turn for each asset. */
function* seedsOf(
  { takes, count, variants }: JobDefinition,
  assetIds: readonly string[],
  rows: readonly string[],
): Generator<NewItemFields> {
  if (takes === 'rows') {
    for (const row of rows) yield { assetId: null, variant: 0, row };
    return;
  }
  const inputs = takes === 'assets' ? assetIds : Array.from({ length: count }, () => null);
  for (const assetId of inputs) {
    for (let variant = 0; variant < variants.length; variant += 1) yield { assetId, variant };
  }
}

/**
 * The ids of the DONE images that `from` in a request selects, oldest first.
 * @throws ApiError invalid_param on from or its fields, and on imageCount.
 */
export async function selectJobAssets(
  accountId: string,
  from: NonNullable<JobRequest['from']>,
  assets: Pick<AssetsStore, 'selectDoneIds'>,
): Promise<string[]> {
  const { collection, limit } = from;
  const selection = withoutAbsentFields({
    collection: collection === undefined ? undefined : checkCollectionName(collection, 'from.collection'),
    ...parseCreationWindow(from, 'from.'),
  });
  const ids = await assets.selectDoneIds(accountId, selection, limit ?? MAX_JOB_ITEMS + 1);
  if (ids.length === 0) {
    const message =
      'from selects no image: it looks for assets that are DONE (GET /api/v1/assets lists them).';
    throw invalidParamError('from', message);
  }
  if (ids.length > MAX_JOB_ITEMS) {
    const message = `from selects more than ${MAX_JOB_ITEMS} images, the most of one job: send limit, or a narrower selection.`;
    throw invalidParamError('from', message, { limit: MAX_JOB_ITEMS });
  }
  return ids;
}

/**
 * Refuses a selection of images if other inputs are sent with it, or if the job takes no images.
 * @throws ApiError invalid_param on from or imageCount.
 */
function refuseOtherInputs({ assetIds, imageCount }: JobRequest, { takes }: CheckedWork): void {
  if (assetIds !== undefined)
    throw exclusiveFieldError('from', 'from and assetIds exclude each other: send one of them.', [
      'from',
      'assetIds',
    ]);
  if (takes !== 'assets')
    throw invalidParamError('from', 'from must be left out: this job takes no pictures.');
  if (imageCount !== undefined)
    throw invalidParamError(
      'imageCount',
      'imageCount must be left out: from selects the images that are priced.',
    );
}
