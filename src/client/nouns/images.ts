import { type ImageInput, imageBody, isReference, pairBody } from '../bodies.ts';
import type { DataOf } from '../calls.ts';
import { Outputs } from '../outputs.ts';
import { Picture } from '../picture.ts';
import type { ImageEstimate, Ops, RenderRequest, ResultLink } from '../schema.ts';
import { type ApiCall, type CallOptions, jsonBody, type Query, type Transport } from '../transport.ts';

/** An op with its parameters beside its name. */
export type OpWork = { [Name in keyof Ops]: { op: Name } & Ops[Name] }[keyof Ops];
/** An op with its parameters on their own, as in a list of steps. */
export type Step = { [Name in keyof Ops]: { op: Name; parameters?: Ops[Name] } }[keyof Ops];
/** What is done to an image: one op, a saved preset (slug, id or slug@version), or up to 20 steps in one pass. */
export type TransformWork =
  | (OpWork & { preset?: never; steps?: never })
  | { preset: string; op?: never; steps?: never }
  | { steps: readonly Step[]; op?: never; preset?: never };
/** One of several results: its name, and what is done for it. */
export type Output = { name: string } & (Step | { preset: string } | { steps: readonly Step[] });

const PICTURE = 'image/*, application/json;q=0.5';

/** One image in, the answer out, nothing stored. */
export class Images {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Runs one op, one preset or a list of steps on one image. */
  async transform(input: ImageInput, work: TransformWork, options?: CallOptions): Promise<Picture> {
    const call = transformCall(input, work);
    return new Picture(await this.#transport.bytes({ ...call, accept: PICTURE }, options));
  }

  /** The same, answered as a signed link of five minutes instead of the bytes. */
  async link(input: ImageInput, work: TransformWork, options?: CallOptions): Promise<ResultLink> {
    const { query, ...call } = transformCall(input, work);
    return this.#data({ ...call, query: { ...query, response: 'url' } }, options);
  }

  /** What a transform would make and cost. No pixel is touched, and no run is counted. */
  async estimate(input: ImageInput, work: TransformWork, options?: CallOptions): Promise<ImageEstimate> {
    const { query, ...call } = transformCall(input, work);
    return this.#data({ ...call, query: { ...query, dryRun: true } }, options);
  }

  /** Makes 2 to 20 pictures of one image, with one upload. Each is a run of its own. */
  async outputs(
    input: ImageInput,
    outputs: readonly Output[],
    { steps, ...options }: CallOptions & { steps?: readonly Step[] } = {},
  ): Promise<Outputs> {
    const body = imageBody(input, { outputs, ...(steps && { steps }) });
    const call = { method: 'POST', path: '/images/transform', body, accept: 'multipart/mixed' };
    const response = await this.#transport.bytes(call, options);
    return new Outputs(new Uint8Array(await response.arrayBuffer()), response.headers);
  }

  /** Draws a template, or html, with one row of data. */
  async render(request: RenderRequest, options?: CallOptions): Promise<Picture> {
    const call = { method: 'POST', path: '/images/render', body: jsonBody(request), accept: PICTURE };
    return new Picture(await this.#transport.bytes(call, options));
  }

  /** What a render would make and cost. Nothing is drawn, and no run is counted. */
  estimateRender(request: RenderRequest, options?: CallOptions): Promise<ImageEstimate> {
    const call = { method: 'POST', path: '/images/render', query: { dryRun: true }, body: jsonBody(request) };
    return this.#data(call, options);
  }

  /** The facts and the tags of an image. Free. */
  metadata(
    input: ImageInput,
    { palette, ...options }: CallOptions & { palette?: number } = {},
  ): Promise<DataOf<'POST /images/metadata'>> {
    return this.#data(readCall('metadata', input, { palette }), options);
  }

  /** The printed text of an image, with the place of each line (OCR). */
  readText(
    input: ImageInput,
    { language, ...options }: CallOptions & { language?: string } = {},
  ): Promise<DataOf<'POST /images/read-text'>> {
    return this.#data(readCall('read-text', input, { language }), options);
  }

  /** The QR and bar codes of an image. */
  readCodes(input: ImageInput, options?: CallOptions): Promise<DataOf<'POST /images/read-codes'>> {
    return this.#data(readCall('read-codes', input), options);
  }

  /**
   * How two images of one size differ. Send the bytes of both, or name both.
   * @param ssimulacra2 whether the answer has that score too, which takes longer.
   */
  async compare(
    one: ImageInput,
    other: ImageInput,
    { ssimulacra2, ...options }: CallOptions & { ssimulacra2?: boolean } = {},
  ): Promise<DataOf<'POST /images/compare'>> {
    const body = await pairBody(one, other);
    return this.#data({ method: 'POST', path: '/images/compare', query: { ssimulacra2 }, body }, options);
  }

  async #data<T>(call: ApiCall, options?: CallOptions): Promise<T> {
    return (await this.#transport.json<T>(call, options)).data;
  }
}

/** Steps are not fields of a query: they are sent beside the image. */
function transformCall(input: ImageInput, work: TransformWork): ApiCall & { query: Query } {
  const base = { method: 'POST', path: '/images/transform' };
  if (work.steps !== undefined) return { ...base, query: {}, body: imageBody(input, { steps: work.steps }) };
  if (!isReference(input) || work.preset !== undefined)
    return { ...base, query: { ...work }, body: imageBody(input) };
  const { op, ...parameters } = work;
  return { ...base, query: {}, body: imageBody(input, { op, parameters }) };
}

function readCall(what: string, input: ImageInput, query: Query = {}): ApiCall {
  return { method: 'POST', path: `/images/${what}`, query, body: imageBody(input) };
}
