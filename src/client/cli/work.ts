import { type ImageInput, isImageReference, type SecondPicture } from '../bodies.ts';
import type { Darkroom } from '../client.ts';
import type { Output, Step, TransformWork } from '../nouns/images.ts';
import type { OpDefinition } from '../schema.ts';
import { UsageError } from './exit-codes.ts';
import { findInputs } from './inputs.ts';
import {
  type ParsedOp,
  readListOption,
  readOpDefinition,
  readParameters,
  requireExactlyOneWorkOption,
} from './parameters.ts';

const TRANSFORM_ENDPOINT = '/images/transform';

/** The work on an image, which makes one picture or several pictures with names. */
type TransformOrOutputsWork = TransformWork | { outputs: readonly Output[]; steps?: readonly Step[] };

/** The work on an image, together with the second picture that its steps read. */
export interface ImageWork {
  work: TransformOrOutputsWork;
  layer?: SecondPicture | undefined;
}

/**
 * Reads the work from the options of a command.
 * @param format the format that the name of the output file suggests. It is used if no format is given and the op has a
 * parameter for it.
 * @throws UsageError
 */
export async function readImageWork(parsed: ParsedOp, client: Darkroom, format: string): Promise<ImageWork> {
  const { op, values } = parsed;
  const { preset, steps } = values;
  const second = typeof values.layer === 'string' ? await openLayerImage(values.layer) : undefined;
  const outputs = values.outputs as string[] | undefined;
  requireExactlyOneWorkOption([op, preset, outputs ?? steps], ', or by --outputs');
  const isLayerReference = second !== undefined && isImageReference(second);
  if (isLayerReference && op === undefined)
    throw new UsageError('--layer takes a file here: name layerAssetId or layerUrl in the step.');
  const layer = isLayerReference ? undefined : (second as SecondPicture | undefined);
  if (typeof preset === 'string') return { work: { preset }, layer };
  const first = typeof steps === 'string' ? ((await readListOption('steps', steps)) as Step[]) : undefined;
  if (outputs !== undefined)
    return { work: { outputs: await readOutputs(outputs, client), ...(first && { steps: first }) }, layer };
  if (first !== undefined || op === undefined) return { work: { steps: first ?? [] }, layer };
  const parameters = { ...parsed.parameters };
  if (op.params.format !== undefined && format !== '') parameters.format ??= format;
  if (op.syncEndpoint === TRANSFORM_ENDPOINT)
    return { work: { op: op.op, ...parameters } as TransformWork, layer };
  if (op.params.layerAssetId === undefined) throw new UsageError(otherCommandHint(op));
  // An op that reads a second picture must be sent as a step. The step refers to that picture by its asset id or its
  // URL.
  const named =
    isLayerReference && ('assetId' in second ? { layerAssetId: second.assetId } : { layerUrl: second.url });
  return { work: { steps: [{ op: op.op, parameters: { ...parameters, ...named } } as Step] }, layer };
}

async function openLayerImage(named: string): Promise<ImageInput> {
  const [input] = (await findInputs([named], process.stdin)).inputs;
  if (input === undefined) throw new UsageError('--layer names one image.');
  return input.open();
}

/** A sentence that suggests another command, for an op that `transform` does not run. */
function otherCommandHint({ op, syncEndpoint, endpoint = syncEndpoint }: OpDefinition): string {
  const command = endpoint?.split('/').at(-1) ?? `job run IMAGE … --op ${op}`;
  return `${op} answers no picture of an image at once: call darkroom ${command}.`;
}

const OUTPUT_SYNTAX = 'NAME=OP:PARAMETER=VALUE,…, with further ops after a ;';
/** Matches a name with its work, as in `small=resize:width=320,format=webp;sharpen`. */
const NAMED_OUTPUT_PATTERN = /^([a-z0-9][a-z0-9_-]*)=(.+)$/s;
const PRESET_PREFIX = 'preset:';

/**
 * Reads the outputs in --outputs. A value is a name with its work, a list of outputs as JSON, or the path of a file
 * with such a list.
 * @throws UsageError for an op or a parameter that does not exist.
 */
async function readOutputs(sent: readonly string[], client: Darkroom): Promise<Output[]> {
  const outputs: Output[] = [];
  for (const text of sent) {
    const [, name, work] = NAMED_OUTPUT_PATTERN.exec(text) ?? [];
    if (name === undefined || work === undefined)
      outputs.push(...((await readListOption('outputs', text)) as Output[]));
    else if (work.startsWith(PRESET_PREFIX)) outputs.push({ name, preset: work.slice(PRESET_PREFIX.length) });
    else {
      const steps = await readSteps(work, client);
      const [only, ...others] = steps;
      outputs.push(only !== undefined && others.length === 0 ? { name, ...only } : { name, steps });
    }
  }
  return outputs;
}

async function readSteps(work: string, client: Darkroom): Promise<Step[]> {
  const steps: Step[] = [];
  for (const text of work.split(';')) {
    const [, name = '', list = ''] = /^([^:]*):?(.*)$/s.exec(text) ?? [];
    const op = await readOpDefinition(client, name);
    const pairs = list.split(',').filter((pair) => pair !== '');
    steps.push({ op: op.op, parameters: readParameters(op, pairs.map(parseParameterPair)) } as Step);
  }
  return steps;
}

function parseParameterPair(pair: string): [name: string, value: string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
  if (name === undefined || value === undefined)
    throw new UsageError(
      `--outputs takes ${OUTPUT_SYNTAX}: ${pair} is no NAME=VALUE. A list of values needs JSON.`,
    );
  return [name, value];
}

/** Works on items in order, on at most `atOnce` of them at the same time. */
export async function forEachWithLimit<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  // All workers share one iterator, so that each item is taken only once.
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
