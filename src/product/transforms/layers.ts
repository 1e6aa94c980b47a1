import { createHash } from 'node:crypto';
import { findStepOperation } from '../../../workers/image/operations/index.ts';
import type { LayerFiles } from '../../imaging/images/image-call.ts';
import type { AdditionalFile } from '../../platform/http/bodies/multipart.ts';
import {
  ApiError,
  invalidParamError,
  type SentField,
  sentFieldAt,
} from '../../platform/http/errors/errors.ts';
import { undeclaredNamesIn } from '../../platform/http/errors/shapes.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import { findOp } from '../catalogue/index.ts';
import type { GivenParameters } from '../catalogue/op.ts';
import type { PresetStep, RequestedStep } from '../catalogue/plan/step.ts';
import { type ImageSource, MAX_MULTIPART_BYTES, parseImageUrl } from './input.ts';
import type { SyncCall } from './metered-call.ts';

/** A second picture of a call, which its steps read. */
export interface RequestedLayer {
  /** The id by which the steps refer to the picture. */
  id: string;
  source: { kind: 'part'; name: string } | Exclude<ImageSource, { kind: 'bytes' }>;
  /** The field or the part of the call to name in errors about the picture. */
  param: string;
}

/**
 * The default name of a part with a second picture. If a second step gives no name, its part is `layer2`, and so on.
 */
const DEFAULT_LAYER_PART = 'layer';
/**
 * Matches the names of parts that are meant as second pictures. A call with such a part that no step reads is refused,
 * whereas unused parts with other names are ignored.
 */
const LAYER_PART_PATTERN = /^layer/i;
const PART_NAME_PATTERN = /^[a-z][a-z0-9_-]{0,39}$/i;

/**
 * Finds where the second pictures of steps come from: an asset, a URL, or a part of the body. In the returned steps,
 * the parameter that names an asset in a job contains the id of the second picture.
 * @throws ApiError invalid_param on `layer`, `layerUrl` or the parameter of the asset, in the step at fault.
 */
export function bindStepLayers(sent: readonly RequestedStep[]): {
  steps: RequestedStep[];
  layers: RequestedLayer[];
} {
  const layers: RequestedLayer[] = [];
  let unnamed = 0;
  const steps = sent.map((step): RequestedStep => {
    const place = secondPictureFieldOf(step);
    if (place === undefined) return step;
    const { field, key } = place;
    const { [field]: given = {}, findField } = step;
    if (!isJsonObject(given)) return step;
    const { layer: _, layerUrl: __, ...others } = given;
    const named = findNamedLayer(given, key, (name) => findField(`${field}.${name}`));
    const op = findOp(step.op);
    // A parameter with an unknown name may be the picture. The check of the step refuses it.
    if (named === undefined && op !== undefined && undeclaredNamesIn(others, op.parameters).length > 0)
      return step;
    if (named === undefined) unnamed += 1;
    const layer = named ?? partLayer(unnamed === 1 ? DEFAULT_LAYER_PART : `${DEFAULT_LAYER_PART}${unnamed}`);
    layers.push(layer);
    const ofLayer = sentFieldAt(layer.param);
    return {
      ...step,
      [field]: { ...others, [key]: layer.id },
      findField: (name) => (name === `${field}.${key}` ? ofLayer : findField(name)),
    };
  });
  return { steps, layers };
}

/**
 * Where a step refers to a second picture: the field of the step, and the key within it. Undefined if the step reads no
 * second picture.
 */
function secondPictureFieldOf(step: PresetStep): { field: 'parameters' | 'params'; key: string } | undefined {
  const { op: name, operation } = step;
  const op = findOp(name);
  const work = name === undefined ? findStepOperation(operation ?? '') : op?.runs === 'pass' ? op : undefined;
  const key = work?.readsSecondAsset;
  return key === undefined ? undefined : { field: name === undefined ? 'params' : 'parameters', key };
}

/** The second picture to which a step refers; undefined if it refers to none. */
function findNamedLayer(
  given: GivenParameters,
  key: string,
  findField: (name: string) => SentField,
): RequestedLayer | undefined {
  const [name, second] = [key, 'layer', 'layerUrl'].filter((one) => given[one] !== undefined);
  if (name === undefined) return undefined;
  if (second !== undefined)
    throw findField(second).refuse(`${name} and ${second} exclude each other: send one of them.`, {
      suggest: [name, second],
    });
  const { param, refuse } = findField(name);
  const value = given[name];
  if (name === 'layerUrl') {
    const url = parseImageUrl(value, param);
    return { id: `url:${createHash('sha1').update(url).digest('hex')}`, source: { kind: 'url', url }, param };
  }
  if (typeof value !== 'string' || value === '')
    throw refuse(`${name} must be a text that is not empty.`, { received: value });
  if (name === key) return { id: value, source: { kind: 'asset', assetId: value }, param };
  if (value !== 'file' && PART_NAME_PATTERN.test(value)) return partLayer(value);
  const message = `${name} is ${JSON.stringify(value)}, but the name of a multipart part is expected, such as layer2: letters, digits, - and _, at most 40, and not file.`;
  throw refuse(message, { received: value });
}

function partLayer(name: string): RequestedLayer {
  return { id: `part:${name}`, source: { kind: 'part', name }, param: name };
}

/**
 * Checks that the body contains each part that steps read exactly once, and no other second pictures.
 * @throws ApiError invalid_param on the part.
 */
export function checkLayerParts(layers: readonly RequestedLayer[], files: readonly AdditionalFile[]): void {
  const sent = files.map(({ name }) => name);
  const read = layers.flatMap(({ source }) => (source.kind === 'part' ? [source.name] : []));
  const missing = read.find((name) => !sent.includes(name));
  if (missing !== undefined) {
    const message = `A step reads the second picture ${missing}, which is missing: send it as a multipart part (curl: -F ${missing}=@logo.png), or name layerUrl or layerAssetId in the step.`;
    throw invalidParamError(missing, message, { missing: [missing] });
  }
  const repeated = read.find((name) => sent.indexOf(name) !== sent.lastIndexOf(name));
  if (repeated !== undefined)
    throw invalidParamError(
      repeated,
      `${repeated} is given more than once: send it once, or name another part.`,
    );
  const unused = sent.find((name) => LAYER_PART_PATTERN.test(name) && !read.includes(name));
  if (unused === undefined) return;
  const message = `No step reads the second picture ${unused}: leave it out, or name it by layer in the parameters of a step such as overlay.`;
  throw invalidParamError(unused, message, { received: unused });
}

/**
 * Loads the second pictures of a call one after the other. Together they may be as large as a body.
 * @throws the errors of `SyncCall.load`, on the field or the part of the picture; payload_too_large.
 */
export async function loadLayers(
  sent: readonly RequestedLayer[],
  files: readonly AdditionalFile[],
  syncCall: SyncCall,
): Promise<{ layers?: LayerFiles }> {
  if (sent.length === 0) return {};
  const layers: Record<string, LayerFiles[string]> = {};
  let sizeBytes = 0;
  for (const { id, source, param } of sent) {
    if (layers[id] !== undefined) continue;
    const image = await syncCall.load(findLayerSource(source, files), param);
    sizeBytes += image.bytes.length;
    if (sizeBytes > MAX_MULTIPART_BYTES) throw layersTooLargeError(param);
    layers[id] = { ...image, param };
  }
  return { layers };
}

function findLayerSource(source: RequestedLayer['source'], files: readonly AdditionalFile[]): ImageSource {
  if (source.kind !== 'part') return source;
  const file = files.find(({ name }) => name === source.name);
  if (file === undefined) throw new Error(`The part ${source.name} was not checked.`);
  return { kind: 'bytes', ...file };
}

function layersTooLargeError(param: string): ApiError {
  const message = `The second pictures of a call have at most ${MAX_MULTIPART_BYTES} bytes together: send smaller ones.`;
  return new ApiError('payload_too_large', message, { param, details: { limit: MAX_MULTIPART_BYTES } });
}
