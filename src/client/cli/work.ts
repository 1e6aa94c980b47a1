import { type ImageInput, isImageReference, type SecondPicture } from '../bodies.ts';
import type { Darkroom } from '../client.ts';
import type { Output, Step, TransformWork } from '../nouns/images.ts';
import type { OpDefinition } from '../schema.ts';
import { UsageError } from './exit-codes.ts';
import { findInputs } from './inputs.ts';
import { readOutputs } from './outputs.ts';
import { type ParsedOp, readListOption, requireOneWorkOption } from './parameters.ts';

const ENDPOINT = '/images/transform';

/** The work on an image: it makes one picture, or several pictures with names. */
type Work = TransformWork | { outputs: readonly Output[]; steps?: readonly Step[] };

/** The work on an image, and the second picture that its steps read. */
export interface ImageWork {
  work: Work;
  layer?: SecondPicture | undefined;
}

/**
 * Reads the work from the options of a command.
 * @param format the format that the name of the only output suggests. It is used if the op takes a format and none is
 *   given.
 * @throws UsageError
 */
export async function readImageWork(parsed: ParsedOp, client: Darkroom, format: string): Promise<ImageWork> {
  const { op, values } = parsed;
  const { preset, steps } = values;
  const second = typeof values.layer === 'string' ? await openLayer(values.layer) : undefined;
  const outputs = values.outputs as string[] | undefined;
  requireOneWorkOption([op, preset, outputs ?? steps], ', or by --outputs');
  const isNamed = second !== undefined && isImageReference(second);
  if (isNamed && op === undefined)
    throw new UsageError('--layer takes a file here: name layerAssetId or layerUrl in the step.');
  const layer = isNamed ? undefined : (second as SecondPicture | undefined);
  if (typeof preset === 'string') return { work: { preset }, layer };
  const first = typeof steps === 'string' ? ((await readListOption('steps', steps)) as Step[]) : undefined;
  if (outputs !== undefined)
    return { work: { outputs: await readOutputs(outputs, client), ...(first && { steps: first }) }, layer };
  if (first !== undefined || op === undefined) return { work: { steps: first ?? [] }, layer };
  const parameters = { ...parsed.parameters };
  if (op.params.format !== undefined && format !== '') parameters.format ??= format;
  if (op.syncEndpoint === ENDPOINT) return { work: { op: op.op, ...parameters } as TransformWork, layer };
  if (op.params.layerAssetId === undefined) throw new UsageError(whereItRuns(op));
  // An op that reads a second picture runs as a step.
  const named =
    isNamed && ('assetId' in second ? { layerAssetId: second.assetId } : { layerUrl: second.url });
  return { work: { steps: [{ op: op.op, parameters: { ...parameters, ...named } } as Step] }, layer };
}

async function openLayer(named: string): Promise<ImageInput> {
  const [input] = (await findInputs([named], process.stdin)).inputs;
  if (input === undefined) throw new UsageError('--layer names one image.');
  return input.open();
}

/** The command that runs an op which transform does not run. */
function whereItRuns({ op, syncEndpoint, endpoint = syncEndpoint }: OpDefinition): string {
  const command = endpoint?.split('/').at(-1) ?? `job run IMAGE … --op ${op}`;
  return `${op} answers no picture of an image at once: call darkroom ${command}.`;
}
