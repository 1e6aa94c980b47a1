import {
  type ImageInput,
  imagePairRequestBody,
  imageRequestBody,
  isImageReference,
  type SecondPicture,
} from '../bodies.ts';
import type { DataOf } from '../calls.ts';
import { Outputs } from '../outputs.ts';
import { Picture } from '../picture.ts';
import type { ImageEstimate, Ops, OutputEstimates, RenderRequest, ResultLink } from '../schema.ts';
import { type ApiCall, type CallOptions, jsonRequestBody, type QueryFields } from '../transport.ts';
import { CallGroup } from './call-group.ts';

/** An op with its parameters in the same object. */
export type OpWork = { [Name in keyof Ops]: { op: Name } & Ops[Name] }[keyof Ops];
/**
 * An op with its parameters in the object `parameters`, as in a list of steps. An op with a second picture, such as
 * overlay, can be used only in this form.
 */
export type Step =
  | { [Name in keyof Ops]: { op: Name; parameters?: Ops[Name] } }[keyof Ops]
  | { op: 'overlay'; parameters?: Record<string, unknown> };
/** The work on an image: one op, a saved preset (as slug, id or slug@version), or up to 20 steps in one pass. */
export type TransformWork =
  | (OpWork & { preset?: never; steps?: never })
  | { preset: string; op?: never; steps?: never }
  | { steps: readonly Step[]; op?: never; preset?: never };
/** One of several results: its name, and the work that makes it. */
export type Output = { name: string } & (Step | { preset: string } | { steps: readonly Step[] });

export interface TransformCallOptions extends CallOptions {
  /** The second picture for a step such as overlay. Absent if the step itself refers to it by an asset id or a URL. */
  layer?: SecondPicture | undefined;
}

export interface OutputsCallOptions extends TransformCallOptions {
  /** Steps that run once, before the work of the outputs. */
  steps?: readonly Step[] | undefined;
}

const PICTURE_ACCEPT_HEADER = 'image/*, application/json;q=0.5';

/** Synchronous calls: they take one image and return the result. Nothing is stored. */
export class Images extends CallGroup {
  /** Runs one op, one preset or a list of steps on one image. */
  async transform(input: ImageInput, work: TransformWork, options?: TransformCallOptions): Promise<Picture> {
    const call = transformCall(input, work, options);
    return new Picture(await this.transport.bytes({ ...call, accept: PICTURE_ACCEPT_HEADER }, options));
  }

  /**
   * Does the same as `transform`, but returns a signed link to the result instead of its bytes. The link is valid for
   * five minutes.
   */
  async link(input: ImageInput, work: TransformWork, options?: TransformCallOptions): Promise<ResultLink> {
    const { query, ...call } = transformCall(input, work, options);
    return this.#readData({ ...call, query: { ...query, response: 'url' } }, options);
  }

  /** Predicts the result and the cost of a transform. No pixels are decoded, and no run is counted. */
  async estimate(
    input: ImageInput,
    work: TransformWork,
    options?: TransformCallOptions,
  ): Promise<ImageEstimate> {
    const { query, ...call } = transformCall(input, work, options);
    return this.#readData({ ...call, query: { ...query, dryRun: true } }, options);
  }

  /** Makes 2 to 20 pictures of one image, which is uploaded only once. Each picture counts as a run. */
  async outputs(
    input: ImageInput,
    outputs: readonly Output[],
    options?: OutputsCallOptions,
  ): Promise<Outputs> {
    const call = { ...outputsCall(input, outputs, options), accept: 'multipart/mixed' };
    const response = await this.transport.bytes(call, options);
    return new Outputs(new Uint8Array(await response.arrayBuffer()), response.headers);
  }

  /** Predicts the results of several outputs, and their total cost. */
  async estimateOutputs(
    input: ImageInput,
    outputs: readonly Output[],
    options?: OutputsCallOptions,
  ): Promise<OutputEstimates> {
    return this.#readData({ ...outputsCall(input, outputs, options), query: { dryRun: true } }, options);
  }

  /** Draws a template, or the given HTML, with one row of data. */
  async render(request: RenderRequest, options?: CallOptions): Promise<Picture> {
    const call = {
      method: 'POST',
      path: '/images/render',
      body: jsonRequestBody(request),
      accept: PICTURE_ACCEPT_HEADER,
    };
    return new Picture(await this.transport.bytes(call, options));
  }

  /** Predicts the result and the cost of a render. Nothing is drawn, and no run is counted. */
  estimateRender(request: RenderRequest, options?: CallOptions): Promise<ImageEstimate> {
    const call = {
      method: 'POST',
      path: '/images/render',
      query: { dryRun: true },
      body: jsonRequestBody(request),
    };
    return this.#readData(call, options);
  }

  /** Reads the facts and the tags of an image, free of charge. */
  metadata(
    input: ImageInput,
    { palette, ...options }: CallOptions & { palette?: number } = {},
  ): Promise<DataOf<'POST /images/metadata'>> {
    return this.#readData(readingCall('metadata', input, { palette }), options);
  }

  /** Reads the printed text of an image, with the position of each line (OCR). */
  readText(
    input: ImageInput,
    { language, ...options }: CallOptions & { language?: string } = {},
  ): Promise<DataOf<'POST /images/read-text'>> {
    return this.#readData(readingCall('read-text', input, { language }), options);
  }

  /** Reads the QR and bar codes of an image. */
  readCodes(input: ImageInput, options?: CallOptions): Promise<DataOf<'POST /images/read-codes'>> {
    return this.#readData(readingCall('read-codes', input), options);
  }

  /**
   * Compares two images of the same size. Both must be sent as bytes, or both as references.
   * @param ssimulacra2 whether the result includes this score, which takes longer.
   */
  async compare(
    one: ImageInput,
    other: ImageInput,
    { ssimulacra2, ...options }: CallOptions & { ssimulacra2?: boolean } = {},
  ): Promise<DataOf<'POST /images/compare'>> {
    const body = await imagePairRequestBody(one, other);
    return this.#readData({ method: 'POST', path: '/images/compare', query: { ssimulacra2 }, body }, options);
  }

  async #readData<T>(call: ApiCall, options?: CallOptions): Promise<T> {
    return (await this.transport.json<T>(call, options)).data;
  }
}

const TRANSFORM_ENDPOINT = { method: 'POST', path: '/images/transform' };

/** The call of a transform. Steps do not fit into a query, so they are sent in the body together with the image. */
function transformCall(
  input: ImageInput,
  work: TransformWork,
  { layer }: TransformCallOptions = {},
): ApiCall & { query: QueryFields } {
  if (work.steps !== undefined)
    return { ...TRANSFORM_ENDPOINT, query: {}, body: imageRequestBody(input, { steps: work.steps }, layer) };
  if (!isImageReference(input) || work.preset !== undefined)
    return { ...TRANSFORM_ENDPOINT, query: { ...work }, body: imageRequestBody(input, {}, layer) };
  const { op, ...parameters } = work;
  return { ...TRANSFORM_ENDPOINT, query: {}, body: imageRequestBody(input, { op, parameters }, layer) };
}

function outputsCall(
  input: ImageInput,
  outputs: readonly Output[],
  { steps, layer }: OutputsCallOptions = {},
): ApiCall {
  return {
    ...TRANSFORM_ENDPOINT,
    body: imageRequestBody(input, { outputs, ...(steps && { steps }) }, layer),
  };
}

function readingCall(endpoint: string, input: ImageInput, query: QueryFields = {}): ApiCall {
  return { method: 'POST', path: `/images/${endpoint}`, query, body: imageRequestBody(input) };
}
