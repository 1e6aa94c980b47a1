import { Type } from '@sinclair/typebox';
import { timingOfHeaders } from '../../client/answers.ts';
import { isImageReference } from '../../client/bodies.ts';
import { readNamedCall } from '../../client/calls.ts';
import type { ResultLink } from '../../client/schema.ts';
import type { Transport } from '../../client/transport.ts';
import { type InputSource, openImageInput, uploadImage } from './inputs.ts';
import { AnyObjectSchema, type ToolPicture, type ToolResult } from './tool.ts';
import { renderModelPicture } from './tools/look.ts';

/** The lifetime of a link to a saved result, in seconds. It is the longest one that the service allows. */
const RESULT_LINK_LIFE_SECONDS = 604_800;
const PREVIEW_EDGE_PX = 256;

/** The output fields that all tools with a result picture have. */
export const RESULT_OUTPUT_FIELDS = {
  link: Type.String(),
  asset: Type.String(),
  width: Type.Integer(),
  height: Type.Integer(),
  format: Type.String(),
  bytes: Type.Integer(),
  warnings: Type.Array(Type.String()),
  timing: AnyObjectSchema,
};

interface ToolResultPicture {
  link: string;
  asset?: string;
  width: number;
  height: number;
  format: string;
  bytes: number;
  warnings?: string[];
  timing?: Record<string, number>;
}

/** The arguments that decide what is done with a result picture. */
export const SAVE_ARGUMENTS = {
  save: Type.Optional(Type.Boolean({ description: 'Keep as an asset.' })),
  preview: Type.Optional(
    Type.Boolean({ description: `Show it, at most ${PREVIEW_EDGE_PX} px; one more run.` }),
  ),
  timing: Type.Optional(Type.Boolean({ description: 'Where its time went, ms.' })),
};

/** Describes a result picture. The picture is saved first if the arguments request it. */
export async function describeResultPicture(
  { url, contentType, width, height, bytes }: ResultLink,
  warnings: string | null | undefined,
  { save }: { save?: boolean },
  source: InputSource,
): Promise<ToolResultPicture> {
  const kept = save === true ? await saveResultAsset(url, contentType, source) : { link: url };
  const format = contentType.replace('image/', '');
  return { ...kept, width, height, format, bytes, ...(warnings && { warnings: warnings.split(',') }) };
}

/** How long each part of a call took in milliseconds, if the arguments request it. */
export function requestedTiming(
  headers: Headers,
  { timing }: { timing?: boolean },
): Pick<ToolResultPicture, 'timing'> {
  return timing === true ? { timing: timingOfHeaders(headers) } : {};
}

/** A small preview of a result picture; an empty list if the arguments request none. */
export async function readRequestedPreviews(
  link: string | undefined,
  { preview }: { preview?: boolean },
  source: InputSource,
): Promise<ToolPicture[]> {
  if (preview !== true || link === undefined) return [];
  const { picture } = await renderModelPicture(await openImageInput(link, source), source.service, {
    size: PREVIEW_EDGE_PX,
  });
  return [picture];
}

/**
 * The result of a tool that made one picture: its facts and, if the arguments request them, its timing and a preview.
 */
export async function pictureResult(
  resultLink: ResultLink,
  headers: Headers,
  args: { save?: boolean; preview?: boolean; timing?: boolean },
  source: InputSource,
): Promise<ToolResult> {
  const described = await describeResultPicture(resultLink, headers.get('x-service-warnings'), args, source);
  return {
    structured: { ...described, ...requestedTiming(headers, args), ...measurementsIn(headers) },
    pictures: await readRequestedPreviews(described.link, args, source),
  };
}

/** Measurements that a response may contain as headers, such as the quality that a search chose. */
const MEASUREMENT_HEADERS = ['quality', 'lossless', 'ssim', 'ssimulacra2', 'thumbhash', 'blurhash'];

function measurementsIn(headers: Headers): Record<string, string> {
  const found = MEASUREMENT_HEADERS.flatMap((name) => {
    const value = headers.get(`x-service-${name}`);
    return value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

async function saveResultAsset(link: string, contentType: string, source: InputSource) {
  const image = await openImageInput(link, source);
  if (isImageReference(image)) throw new Error('The link of a result does not lead to this service.');
  const name = `result.${contentType.replace(/^image\/|\+.*$/g, '')}`;
  const asset = await uploadImage(new File([image], name), source.service);
  return { asset, link: await createAssetLink(asset, source.service) };
}

/** Makes a signed link to an asset. The link is valid for a week. */
export async function createAssetLink(assetId: string, service: Transport): Promise<string> {
  const fields = { path: { assetId }, query: { expiresInSeconds: RESULT_LINK_LIFE_SECONDS } };
  return (await readNamedCall(service, 'GET /assets/{assetId}/link', fields)).url;
}
