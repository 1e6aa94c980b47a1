import { Type } from '@sinclair/typebox';
import { invalidParam } from '../../../platform/http/errors/errors.ts';
import { fileOf, type Image, Input, openInput } from '../inputs.ts';
import type { SentPayload, Service } from '../public-interface.ts';
import { AnyObject, Tool } from '../tool.ts';

export const compare = Tool.of({
  name: 'compare',
  title: 'Compare two images',
  description:
    'How two images of one size differ: SSIM, share of changed pixels, hash distance, regions; on request SSIMULACRA 2. One run.',
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: Type.Object(
    { input: Input, other: Input, ssimulacra2: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  ),
  output: Type.Partial(
    Type.Object({
      ssim: Type.Number(),
      ssimulacra2: Type.Number(),
      changedShare: Type.Number(),
      maxDifference: Type.Integer(),
      hashDistance: Type.Integer(),
      regions: Type.Array(AnyObject),
    }),
  ),
  async run({ input, other, ssimulacra2 = false }, source) {
    const one = await openInput(input, source);
    const two = await openInput(other, source, 'other');
    const sent = await encodePair(one, two, source.service);
    const path = `/images/compare?ssimulacra2=${ssimulacra2}`;
    const { data } = await source.service.call<object>('POST', path, sent);
    return { structured: { ...data } };
  },
});

/** The body with both images, as references or as bytes, because the call needs the same form for both. */
async function encodePair(one: Image, two: Image, service: Service): Promise<SentPayload> {
  if (!('bytes' in one) && !('bytes' in two)) {
    const other = 'assetId' in two ? { otherAssetId: two.assetId } : { otherUrl: two.url };
    return { json: { ...one, ...other } };
  }
  const form = new FormData();
  form.append('file', fileOf(await readBytes(one, 'input', service)), 'image');
  form.append('other', fileOf(await readBytes(two, 'other', service)), 'other');
  return { form };
}

async function readBytes(image: Image, argument: string, service: Service): Promise<Buffer> {
  if ('bytes' in image) return image.bytes;
  if ('assetId' in image) return service.read(`/api/v1/assets/${encodeURIComponent(image.assetId)}/content`);
  throw invalidParam(
    argument,
    'A URL is not compared with a result: save the result first, and send its asset.',
  );
}
