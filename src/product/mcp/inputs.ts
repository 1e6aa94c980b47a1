import { Type } from '@sinclair/typebox';
import { type ImageReference, imageRequestBody } from '../../client/bodies.ts';
import type { Asset } from '../../client/schema.ts';
import type { Transport } from '../../client/transport.ts';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import { assetIdInLink } from '../transforms/input.ts';

/** What a tool call needs to read its images. It is disposed of when the call has ended. */
export interface InputSource extends Disposable {
  /** Makes calls of the API with the credential of the caller. */
  service: Transport;
  /**
   * Reads a picture of the service, whatever its size.
   * @param path the path from the root.
   */
  readPicture(path: string): Promise<Blob>;
  /**
   * Uploads a file of the caller's computer, and returns the id of its asset. Null when the tools run in the service,
   * which cannot read the files.
   * @param path relative to the working directory, or absolute.
   * @param argument the name of the tool's argument, for error messages.
   */
  uploadFile: ((path: string, argument: string) => Promise<string>) | null;
}

/** An image, in the form in which the tools send it to the API. */
export type ToolImage = ImageReference | Blob;

/** The schema of an argument that names an image. `prompts.ts` describes the accepted forms. */
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
 * @throws ApiError invalid_param; DarkroomError for a link that has expired.
 */
export async function openImageInput(
  input: string,
  { readPicture, uploadFile }: InputSource,
  argument = 'input',
): Promise<ToolImage> {
  const assetId = assetIdIn(input);
  if (assetId !== null) return { assetId };
  if (HTTP_ADDRESS_PATTERN.test(input)) {
    const [result] = RESULT_LINK_PATTERN.exec(input) ?? [];
    return result === undefined ? { url: input } : readPicture(result);
  }
  if (uploadFile === null) throw localPathRefusedError(argument);
  return { assetId: await uploadFile(input, argument) };
}

/** The asset id in an argument: the argument itself, or a part of a link. Null if it contains none. */
export function assetIdIn(input: string): string | null {
  if (ASSET_ID_PATTERN.test(input)) return input;
  return (HTTP_ADDRESS_PATTERN.test(input) && assetIdInLink(input)) || null;
}

/** The asset id of an image. An image that is not an asset is uploaded first. */
export async function ensureAssetId(image: ToolImage, service: Transport): Promise<string> {
  return 'assetId' in image ? image.assetId : uploadImage(image, service);
}

/** Uploads an image, and returns the id of its asset. */
export async function uploadImage(image: ToolImage, service: Transport): Promise<string> {
  const call = { method: 'POST', path: '/assets/upload', body: imageRequestBody(image) };
  return (await service.json<Asset>(call)).data.id;
}

/**
 * Reads a picture of the service, whatever its size.
 * @param path the path from the root.
 */
export async function readPicture(path: string, service: Transport): Promise<Blob> {
  const response = await service.bytes({ method: 'GET', root: '', path, accept: '*/*' });
  return new Blob([await response.arrayBuffer()]);
}

function localPathRefusedError(argument: string) {
  const message = `${argument} is neither an asset id (ast_…) nor an http(s) URL, and files of your machine are read by a local server alone (darkroom mcp): upload the file by ticket, and send its asset.`;
  return invalidParamError(argument, message);
}
