import { Type } from '@sinclair/typebox';
import { imageRequestBody } from '../../../client/bodies.ts';
import type { CodesOfImage, ImageMetadata, TextOfImage } from '../../../client/schema.ts';
import type { QueryFields, Transport } from '../../../client/transport.ts';
import { invalidParamError } from '../../../platform/http/errors/errors.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import { ImageInputSchema, openImageInput, type ToolImage } from '../inputs.ts';
import { createAssetLink } from '../results.ts';
import { AnyObjectSchema, defineTool } from '../tool.ts';

const FACTS_KINDS = ['image', 'tags', 'palette', 'hashes', 'text', 'codes', 'link'] as const;
type FactsKind = (typeof FACTS_KINDS)[number];

const PALETTE_COLOR_COUNT = 6;
/** The maximum length of the tags of a file in one result, as JSON. */
const MAX_TAGS_CHARACTERS = 4_000;
const MAX_TAG_VALUE_CHARACTERS = 200;

export const factsTool = defineTool({
  name: 'facts',
  title: 'Read the facts of an image',
  description:
    'Size, format and colours of an image; on request its tags (EXIF), palette, hashes, text (OCR), QR and bar codes, or for an asset a link. text and codes count one run each.',
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: {
    input: ImageInputSchema,
    include: Type.Optional(
      Type.Array(Type.Unsafe<FactsKind>({ type: 'string', enum: [...FACTS_KINDS] }), {
        minItems: 1,
        description: 'Default: image.',
      }),
    ),
  },
  output: {
    image: AnyObjectSchema,
    tags: AnyObjectSchema,
    palette: Type.Array(AnyObjectSchema),
    hashes: AnyObjectSchema,
    text: AnyObjectSchema,
    codes: Type.Array(AnyObjectSchema),
    link: Type.String(),
  },
  async run({ input, include }, source) {
    const { service } = source;
    const image = await openImageInput(input, source);
    const kinds = new Set<FactsKind>(include ?? ['image']);
    return {
      structured: {
        ...(await measureImage(image, kinds, service)),
        ...(kinds.has('text') && { text: await readText(image, service) }),
        ...(kinds.has('codes') && { codes: await readCodes(image, service) }),
        ...(kinds.has('link') && { link: await linkSavedAsset(image, service) }),
      },
    };
  },
});

/** Measures an image with one call of the API. Kinds of facts that need other calls are left out. */
async function measureImage(image: ToolImage, kinds: ReadonlySet<FactsKind>, service: Transport) {
  if (!(['image', 'tags', 'palette', 'hashes'] as const).some((kind) => kinds.has(kind))) return {};
  const query = kinds.has('palette') ? { palette: PALETTE_COLOR_COUNT } : {};
  const data = await readFromImage<ImageMetadata>('metadata', image, service, query);
  const { palette, sha1, perceptualHash, thumbhash, blurhash, ...facts } = data.image;
  return {
    ...(kinds.has('image') && { image: facts }),
    ...(kinds.has('tags') && { tags: truncatedTags(data.metadata) }),
    ...(kinds.has('palette') && { palette }),
    ...(kinds.has('hashes') && {
      hashes: withoutAbsentFields({ sha1, perceptualHash, thumbhash, blurhash }),
    }),
  };
}

/** As many tags as fit into the total size. Long values are truncated. */
function truncatedTags(groups: ImageMetadata['metadata']): Record<string, Record<string, unknown>> {
  const short: Record<string, Record<string, unknown>> = {};
  let length = 0;
  for (const [group, tags] of Object.entries(groups)) {
    for (const [name, value] of Object.entries(tags)) {
      const text = JSON.stringify(value) ?? '';
      const shown =
        text.length > MAX_TAG_VALUE_CHARACTERS ? `${text.slice(0, MAX_TAG_VALUE_CHARACTERS)}…` : value;
      length += name.length + Math.min(text.length, MAX_TAG_VALUE_CHARACTERS);
      if (length > MAX_TAGS_CHARACTERS) return short;
      short[group] = { ...short[group], [name]: shown };
    }
  }
  return short;
}

async function readText(image: ToolImage, service: Transport) {
  const { text, confidence } = await readFromImage<TextOfImage>('read-text', image, service);
  return { text, confidence };
}

async function readCodes(image: ToolImage, service: Transport) {
  return (await readFromImage<CodesOfImage>('read-codes', image, service)).codes;
}

/**
 * Makes a call that reads something from an image.
 * @param endpoint the last segment of the path.
 */
async function readFromImage<T>(
  endpoint: string,
  image: ToolImage,
  service: Transport,
  query: QueryFields = {},
): Promise<T> {
  const call = { method: 'POST', path: `/images/${endpoint}`, query, body: imageRequestBody(image) };
  return (await service.json<T>(call)).data;
}

async function linkSavedAsset(image: ToolImage, service: Transport): Promise<string> {
  if ('assetId' in image) return createAssetLink(image.assetId, service);
  throw invalidParamError('include', 'A link is for an asset: save the image first, or leave link out.');
}
