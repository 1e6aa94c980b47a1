import { Type } from '@sinclair/typebox';
import { invalidParam } from '../../platform/http/errors/errors.ts';
import type { SentPayload, Service } from './public-interface.ts';

/** Uploads a file of the machine that the tools run on. */
export interface LocalFiles {
  /**
   * @param path relative to the working directory, or absolute.
   * @param argument the argument of the tool, for a refusal.
   * @returns the id of the asset with these bytes.
   */
  upload(path: string, argument: string, service: Service): Promise<string>;
}

/** Where a call of a tool gets its images; disposed of when the tool has answered. */
export interface InputSource extends Disposable {
  service: Service;
  /** Null where the tools run in the service, whose files are not those of the caller. */
  files: LocalFiles | null;
}

/** An image for the calls of the interface. */
export type Image = { assetId: string } | { url: string } | { bytes: Buffer };

/** The schema of an argument that names an image. `instructions.ts` says what it may be. */
export const Input = Type.String({
  minLength: 1,
  maxLength: 4_096,
  description: 'Image: asset id, URL, link or path.',
});

const ASSET = /^ast_\w+$/;
/** A signed link to an asset of this service; the id alone leads to it, if it is one of the caller's. */
const ASSET_LINK = /\/api\/v1\/assets\/(ast_\w+)\/content\?/;
/** A signed link to a result of this service, which its fetcher refuses where its address is not public. */
const RESULT_LINK = /\/results\/\w+\?expires=\d+&signature=[\w-]+$/;
const ADDRESS = /^https?:\/\//i;

/**
 * Opens the image that an argument names.
 * @param argument its name, for a refusal.
 * @throws ApiError invalid_param; ServiceCallError for a link that has expired.
 */
export async function openInput(
  input: string,
  { service, files }: InputSource,
  argument = 'input',
): Promise<Image> {
  const assetId = assetIn(input);
  if (assetId !== null) return { assetId };
  if (ADDRESS.test(input)) {
    const [result] = RESULT_LINK.exec(input) ?? [];
    return result === undefined ? { url: input } : { bytes: await service.read(result) };
  }
  if (files === null) throw noPath(argument);
  return { assetId: await files.upload(input, argument, service) };
}

/** The id of the asset that an argument names by its id or by a link; null for any other image. */
export function assetIn(input: string): string | null {
  if (ASSET.test(input)) return input;
  return (ADDRESS.test(input) && ASSET_LINK.exec(input)?.[1]) || null;
}

/** The asset of an image, which is uploaded unless it is one. */
export async function ensureAsset(image: Image, service: Service): Promise<string> {
  if ('assetId' in image) return image.assetId;
  const { data } = await service.call<{ id: string }>('POST', '/assets/upload', bodyOf(image));
  return data.id;
}

/**
 * The body of a call with one image: a reference as JSON, or the bytes as a form.
 * @param fields the work beside the image.
 */
export function bodyOf(image: Image, fields: Record<string, unknown> = {}): SentPayload {
  if (!('bytes' in image)) return { json: { ...image, ...fields } };
  const form = new FormData();
  form.append('file', fileOf(image.bytes), 'image');
  for (const [name, value] of Object.entries(fields))
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  return { form };
}

/** Bytes as a part of a form. */
export function fileOf(bytes: Buffer): Blob {
  return new Blob([new Uint8Array(bytes)]);
}

function noPath(argument: string) {
  return invalidParam(
    argument,
    `${argument} is neither an asset id (ast_…) nor an http(s) URL, and files of your machine are read by a local server alone (darkroom mcp): upload the file by ticket, and send its asset.`,
  );
}
