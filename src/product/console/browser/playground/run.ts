import type { DarkroomError } from '../../../../client/errors.ts';
import type { OpWork, Output, Step, TransformWork } from '../../../../client/nouns/images.ts';
import type { Picture } from '../../../../client/picture.ts';
import type { JobRequest, OpDefinition } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { readPictureSize } from '../parts/pictures.ts';
import { rowOfFormValues } from '../saved/row.ts';
import { findLoneStep, jobRequestOf, type PlaygroundWork } from './work.ts';

/** A result picture, with the facts from its response. */
export interface ResultPicture {
  name: string;
  blob: Blob;
  width: number;
  height: number;
  format: string;
  warnings: readonly { code: string; name?: string }[];
  timing: Readonly<Record<string, number>>;
  /** For compress: the chosen quality, and how similar the result is to the original. Empty for other ops. */
  achieved: Readonly<Record<string, number>>;
  requestId: string;
}

export interface RunOutcome {
  pictures: readonly ResultPicture[];
  /** The results that could not be made, each with its error. */
  failures: readonly { name: string; error: DarkroomError }[];
  /** The JSON that the op returned instead of a picture. */
  json?: unknown;
  /** Whether a sandbox model made the result. The results of sandbox models are invented. */
  isSample: boolean;
  /** Milliseconds from the request to the end of the response. */
  tookMs: number;
  /** The job that made the result. */
  jobId?: string;
}

interface WorkRunOptions {
  signal: AbortSignal;
  /** Called with the progress of a job. */
  onProgress: (text: string) => void;
}

/**
 * Runs the work of the playground.
 * @param source the picture; undefined for work that needs none.
 * @throws DarkroomError
 */
export async function runWork(
  work: PlaygroundWork,
  source: Blob | undefined,
  definition: OpDefinition | undefined,
  terms: WorkRunOptions,
): Promise<RunOutcome> {
  const startedAt = performance.now();
  const outcome = await makeOutcome(work, source ?? new Blob(), definition, terms);
  return { failures: [], isSample: false, ...outcome, tookMs: performance.now() - startedAt };
}

type PartialOutcome = Pick<RunOutcome, 'pictures'> & Partial<RunOutcome>;

async function makeOutcome(
  work: PlaygroundWork,
  source: Blob,
  definition: OpDefinition | undefined,
  terms: WorkRunOptions,
): Promise<PartialOutcome> {
  const { signal } = terms;
  const transform = (what: TransformWork) => api.images.transform(source, what, { signal });
  switch (work.kind) {
    case 'preset':
      return singlePictureOutcome(await transform({ preset: work.slug }));
    case 'template':
      return singlePictureOutcome(
        await api.images.render({ templateId: work.id, data: rowOfFormValues(work.data) }, { signal }),
      );
    case 'steps':
      if (work.outputs.length > 0) return makeOutputs(work, source, signal);
      return singlePictureOutcome(await transform(transformWorkOf(work)));
    case 'op':
      return definition?.kind === 'ai' || definition?.endpoint === undefined
        ? readOrRunJob(work, source, definition, terms)
        : { pictures: [], json: await api.images.metadata(source, { ...work.values, signal }) };
  }
}

async function readOrRunJob(
  work: Extract<PlaygroundWork, { kind: 'op' }>,
  source: Blob,
  definition: OpDefinition | undefined,
  terms: WorkRunOptions,
): Promise<PartialOutcome> {
  const { signal } = terms;
  if (definition?.syncEndpoint === '/images/read-text')
    return { pictures: [], json: await api.images.readText(source, { ...work.values, signal }) };
  if (definition?.syncEndpoint === '/images/read-codes')
    return { pictures: [], json: await api.images.readCodes(source, { signal }) };
  return runJob(work, source, definition, terms);
}

async function makeOutputs(
  { steps, outputs }: Extract<PlaygroundWork, { kind: 'steps' }>,
  source: Blob,
  signal: AbortSignal,
): Promise<PartialOutcome> {
  const before = steps.length === 0 ? {} : { steps: steps as readonly Step[] };
  const answer = await api.images.outputs(source, outputs as readonly Output[], { ...before, signal });
  const pictures = await Promise.all(
    [...answer.pictures].map(([name, picture]) => readResultPicture(name, picture)),
  );
  return { pictures, failures: [...answer.errors].map(([name, error]) => ({ name, error })) };
}

/** Uploads the picture, runs a job over it, and fetches the results. */
async function runJob(
  { op, values }: Extract<PlaygroundWork, { kind: 'op' }>,
  source: Blob,
  definition: OpDefinition | undefined,
  { signal, onProgress }: WorkRunOptions,
): Promise<PartialOutcome> {
  const assetIds: string[] = [];
  if (definition?.requiresAssets !== false) {
    onProgress('The picture is uploaded');
    assetIds.push((await api.assets.upload(source, { signal })).id);
  }
  const request = { ...jobRequestOf(op, values), ...(assetIds.length > 0 && { assetIds }) } as JobRequest;
  onProgress('The job waits');
  const job = await api.jobs.run(request, {
    signal,
    onProgress: ({ status }) => onProgress(status === 'PENDING' ? 'The job waits' : 'The job is at work'),
  });
  const items = job.items ?? [];
  const [failed] = items.filter(({ status }) => status === 'FAILED');
  if (failed !== undefined && items.length === 1) throw new Error(failed.errorMessage ?? 'The job failed.');
  const pictures: ResultPicture[] = [];
  for (const { resultAssetId, index } of items) {
    if (resultAssetId === undefined) continue;
    const content = await api.assets.download(resultAssetId, { signal });
    const blob = await content.blob();
    const { width, height } = await readPictureSize(blob);
    const { requestId, contentType } = content;
    const facts = { width, height, requestId, format: contentType.replace('image/', '') };
    pictures.push({ ...facts, name: `result-${index + 1}`, blob, warnings: [], timing: {}, achieved: {} });
  }
  const outputs = items.map(({ output }) => output).filter((output) => output !== undefined);
  return {
    pictures,
    ...(outputs.length > 0 && { json: outputs.length === 1 ? outputs[0] : outputs }),
    isSample: items.some(({ sandbox }) => sandbox === true),
    jobId: job.id,
  };
}

/** The steps as the client takes them. A single step is sent as an op with its parameters in the query. */
function transformWorkOf(work: Extract<PlaygroundWork, { kind: 'steps' }>): TransformWork {
  const lone = findLoneStep(work);
  if (lone !== undefined) return { op: lone.op, ...lone.parameters } as OpWork;
  return { steps: work.steps as readonly Step[] };
}

async function singlePictureOutcome(picture: Picture): Promise<PartialOutcome> {
  return { pictures: [await readResultPicture('result', picture)] };
}

async function readResultPicture(name: string, picture: Picture): Promise<ResultPicture> {
  const { width, height, format, warnings, timing, requestId } = picture;
  const achieved = picture.achieved as Readonly<Record<string, number>>;
  return { name, blob: await picture.blob(), width, height, format, warnings, timing, achieved, requestId };
}
