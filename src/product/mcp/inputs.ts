import { Type } from '@sinclair/typebox';
import { invalidParamError } from '../../platform/http/errors/errors.ts';
import type { PublicInterface, RequestPayload } from './public-interface.ts';

/** Uploads files of the machine on which the tools run. */
export interface LocalFiles {
  /**
   * Uploads a file.
   * @param path relative to the working directory, or absolute.
   * @param argument the tool's argument, for an error.
   * @returns the id of the asset with these bytes.
   */
  upload(path: string, argument: string, service: PublicInterface): Promise<string>;
}

/** The source of a tool call's images. It is disposed of when the tool has answered. */
export interface InputSource extends Disposable {
  service: PublicInterface;
  /** The caller's files; null when the tools run in the service, which cannot read them. */
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

const ASSET = /^ast_\w+$/;
/** Matches a signed link to an asset of this service. The id in it is enough, if the asset is the caller's. */
const ASSET_LINK = /\/api\/v1\/assets\/(ast_\w+)\/content\?/;
/**
 * Matches a signed link to a result of this service. The service's fetcher would refuse it if its address is not
 * public.
 */
const RESULT_LINK = /\/results\/\w+\?expires=\d+&signature=[\w-]+$/;
const ADDRESS = /^https?:\/\//i;

/**
 * Opens the image that an argument names.
 * @param argument its name, for a refusal.
 * @throws ApiError invalid_param; ServiceCallError for a link that has expired.
 */
export async function openImageInput(
  input: string,
  { service, files }: InputSource,
  argument = 'input',
): Promise<ToolImage> {
  const assetId = assetIdIn(input);
  if (assetId !== null) return { assetId };
  if (ADDRESS.test(input)) {
    const [result] = RESULT_LINK.exec(input) ?? [];
    return result === undefined ? { url: input } : { bytes: await service.read(result) };
  }
  if (files === null) throw noPath(argument);
  return { assetId: await files.upload(input, argument, service) };
}

/** The id of the asset that an argument names, by its id or by a link. Null for any other image. */
export function assetIdIn(input: string): string | null {
  if (ASSET.test(input)) return input;
  return (ADDRESS.test(input) && ASSET_LINK.exec(input)?.[1]) || null;
}

/** The id of the asset of an image. The image is uploaded unless it is an asset already. */
export async function ensureAsset(image: ToolImage, service: PublicInterface): Promise<string> {
  if ('assetId' in image) return image.assetId;
  const { data } = await service.call<{ id: string }>('POST', '/assets/upload', imagePayloadOf(image));
  return data.id;
}

/**
 * The body of a call with one image: a reference as JSON, or the bytes as a form.
 * @param fields are sent with the image.
 */
export function imagePayloadOf(image: ToolImage, fields: Record<string, unknown> = {}): RequestPayload {
  if (!('bytes' in image)) return { json: { ...image, ...fields } };
  const form = new FormData();
  form.append('file', imageFileOf(image.bytes), 'image');
  for (const [name, value] of Object.entries(fields))
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  return { form };
}

/** Bytes as a part of a form. */
export function imageFileOf(bytes: Buffer): Blob {
  return new Blob([new Uint8Array(bytes)]);
}

function noPath(argument: string) {
  return invalidParamError(
    argument,
    `${argument} is neither an asset id (ast_…) nor an http(s) URL, and files of your machine are read by a local server alone (darkroom mcp): upload the file by ticket, and send its asset.`,
  );
}
