import { Type } from '@sinclair/typebox';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { assetIdInLink } from '../transforms/input.ts';
import type { PublicInterface, RequestPayload } from './public-interface.ts';

/** Uploads files of the machine on which the tools run. */
export interface LocalFiles {
  /**
   * Uploads a file.
   * @param path relative to the working directory, or absolute.
   * @param argument the name of the tool's argument, for error messages.
   * @returns the id of the asset with these bytes.
   */
  upload(path: string, argument: string, service: PublicInterface): Promise<string>;
}

/** How a tool call reads its images. The object is disposed of when the tool has answered. */
export interface InputSource extends Disposable {
  service: PublicInterface;
  /** The files of the caller; null when the tools run in the service, which cannot read them. */
  files: LocalFiles | null;
}

/** An image for the calls of the interface. */
export type ToolImage = { assetId: string } | { url: string } | { bytes: Buffer };

/** The schema of an argument that names an image. `instructions.ts` describes the accepted forms. */
export const ImageInputSchema = Type.String({
  minLength: 1,
  maxLength: 4_096,
  description: 'Image: asset id, URL, link or path.',
});

const ASSET_ID_PATTERN = /^ast_\w+$/;
/**
 * Matches a signed link to a result of this service. Such a link is read directly, because the service's fetcher
 * refuses addresses that are not public.
 */
const RESULT_LINK_PATTERN = /\/results\/\w+\?expires=\d+&signature=[\w-]+$/;
const HTTP_ADDRESS_PATTERN = /^https?:\/\//i;

/**
 * Opens the image that an argument names.
 * @param argument the name of the argument, for error messages.
 * @throws ApiError invalid_param; ServiceCallError for a link that has expired.
 */
export async function openImageInput(
  input: string,
  { service, files }: InputSource,
  argument = 'input',
): Promise<ToolImage> {
  const assetId = assetIdIn(input);
  if (assetId !== null) return { assetId };
  if (HTTP_ADDRESS_PATTERN.test(input)) {
    const [result] = RESULT_LINK_PATTERN.exec(input) ?? [];
    return result === undefined ? { url: input } : { bytes: await service.read(result) };
  }
  if (files === null) throw localPathRefusedError(argument);
  return { assetId: await files.upload(input, argument, service) };
}

/** The id of the asset that an argument names, by its id or by a link. Null for an argument that names no asset. */
export function assetIdIn(input: string): string | null {
  if (ASSET_ID_PATTERN.test(input)) return input;
  return (HTTP_ADDRESS_PATTERN.test(input) && assetIdInLink(input)) || null;
}

/** The id of the asset of an image. The image is uploaded unless it is an asset already. */
export async function ensureAsset(image: ToolImage, service: PublicInterface): Promise<string> {
  if ('assetId' in image) return image.assetId;
  const { data } = await service.call<{ id: string }>('POST', '/assets/upload', imagePayloadOf(image));
  return data.id;
}

/**
 * The body of a call with one image: JSON for an image that is named, and a form for one that is sent as bytes.
 * @param fields the parameters that are sent with the image.
 */
export function imagePayloadOf(image: ToolImage, fields: Record<string, unknown> = {}): RequestPayload {
  if (!('bytes' in image)) return { json: { ...image, ...fields } };
  const form = new FormData();
  form.append('file', imageBlob(image.bytes), 'image');
  for (const [name, value] of Object.entries(fields))
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  return { form };
}

export function imageBlob(bytes: Buffer): Blob {
  return new Blob([new Uint8Array(bytes)]);
}

function localPathRefusedError(argument: string) {
  const message = `${argument} is neither an asset id (ast_…) nor an http(s) URL, and files of your machine are read by a local server alone (darkroom mcp): upload the file by ticket, and send its asset.`;
  return invalidParamError(argument, message);
}
