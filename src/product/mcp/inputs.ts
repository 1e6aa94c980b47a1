import { Type } from '@sinclair/typebox';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { assetIdInLink } from '../transforms/input.ts';
import type { PublicInterface, RequestPayload } from './public-interface.ts';

/** Uploads files from the computer on which the tools run. */
export interface LocalFiles {
  /**
   * Uploads a file.
   * @param path relative to the working directory, or absolute.
   * @param argument the name of the tool's argument, for error messages.
   * @returns the id of the asset with these bytes.
   */
  upload(path: string, argument: string, service: PublicInterface): Promise<string>;
}

/** What a tool call needs to read its images. It is disposed of when the call has ended. */
export interface InputSource extends Disposable {
  service: PublicInterface;
  /** The files of the caller's computer; null when the tools run in the service, which cannot read them. */
  files: LocalFiles | null;
}

/** An image, in the form in which the tools send it to the API. */
export type ToolImage = { assetId: string } | { url: string } | { bytes: Buffer };

/** The schema of an argument that stands for an image. `prompts.ts` describes the accepted forms. */
export const ImageInputSchema = Type.String({
  minLength: 1,
  maxLength: 4_096,
  description: 'Image: asset id, URL, link or path.',
});

const ASSET_ID_PATTERN = /^ast_\w+$/;
/**
 * Matches a signed link to a result of this service. The tools read it themselves, because the service's fetcher of
 * URLs refuses private addresses, and the service may have one.
 */
const RESULT_LINK_PATTERN = /\/results\/\w+\?expires=\d+&signature=[\w-]+$/;
const HTTP_ADDRESS_PATTERN = /^https?:\/\//i;

/**
 * Opens the image to which an argument refers.
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

/** The asset id in an argument: the argument itself, or a part of a link. Null if it contains none. */
export function assetIdIn(input: string): string | null {
  if (ASSET_ID_PATTERN.test(input)) return input;
  return (HTTP_ADDRESS_PATTERN.test(input) && assetIdInLink(input)) || null;
}

/** The asset id of an image. An image that is not an asset is uploaded first. */
export async function ensureAsset(image: ToolImage, service: PublicInterface): Promise<string> {
  if ('assetId' in image) return image.assetId;
  const { data } = await service.call<{ id: string }>('POST', '/assets/upload', imagePayloadOf(image));
  return data.id;
}

/**
 * The body of a call with one image: JSON for an asset or a URL, and a multipart form for bytes.
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
