import sharp, { type Sharp } from 'sharp';
import type { Test } from 'tap';
import {
  type Answer,
  type ServerOptions,
  sharedServer,
  startServer,
  type TestServer,
} from '../../support/harness.ts';

/** Parameters of a query before they are encoded: lists and objects are sent as JSON text. */
export type Query = Record<string, unknown>;

export interface Calls {
  server: TestServer;
  key: string;
  /** POST /images/transform with a raw body. */
  transform(query: Query, body: Uint8Array, type?: string, key?: string): Promise<Answer>;
  /** POST /images/metadata with a raw body. */
  metadata(body: Uint8Array, type?: string): Promise<Answer>;
}

/** An account that may call without a limit of its rate; on a server of its own if there are settings. */
export async function openCalls(
  t: Test,
  settings?: ServerOptions['settings'],
  options?: Pick<ServerOptions, 'imageWork'>,
): Promise<Calls> {
  const server =
    settings === undefined
      ? await sharedServer()
      : await startServer(t, { settings: { REQUESTS_PER_MINUTE: '100000', ...settings }, ...options });
  const { key } = await server.account();
  const post = (path: string, body: Uint8Array, type: string, as: string) =>
    server.call(path, { method: 'POST', key: as, body: new Uint8Array(body), type });
  return {
    server,
    key,
    transform: (query, body, type = 'image/png', as = key) =>
      post(`/images/transform?${queryText(query)}`, body, type, as),
    metadata: (body, type = 'image/png') => post('/images/metadata', body, type, key),
  };
}

export function queryText(query: Query): string {
  const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  return new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, text(value)]),
  ).toString();
}

export type Rgba = [red: number, green: number, blue: number, alpha: number];

export interface Raster {
  width: number;
  height: number;
  data: Uint8ClampedArray;
  at(x: number, y: number): Rgba;
}

/** Decodes a file, or all frames of an animation as one strip, to RGBA in sRGB. */
export async function rasterOf(file: Uint8Array | Sharp): Promise<Raster> {
  const picture = file instanceof Uint8Array ? sharp(file, { pages: -1, limitInputPixels: false }) : file;
  const { data, info } = await picture
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const at = (x: number, y: number) =>
    [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4)] as Rgba;
  return { width, height, data: new Uint8ClampedArray(data), at };
}

/** The picture of an answer. @throws when the answer is not a 200. */
export async function pictureOf(answer: Answer): Promise<Raster> {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.bytes.toString('utf8', 0, 400)}`);
  return rasterOf(answer.bytes);
}

/** The fields of a refusal that programs read. */
export function refusalOf({ status, json }: Answer) {
  const { code, param, message, details, retryable } = json?.error ?? {};
  return { status, code, param, message, details, retryable };
}

/** PNG bytes of a pipeline. */
export async function pngOf(picture: Sharp): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await picture.png().toBuffer());
}
