import { Type } from '@sinclair/typebox';
import { imageRequestBody } from '../../../client/bodies.ts';
import { Picture } from '../../../client/picture.ts';
import type { Transport } from '../../../client/transport.ts';
import { ImageInputSchema, openImageInput, type ToolImage } from '../inputs.ts';
import { defineTool, type ToolPicture } from '../tool.ts';

/** The longest edge of a picture that is shown to a model, in pixels. A larger picture costs more tokens. */
const MAX_MODEL_PICTURE_EDGE_PX = 512;
const MIN_EDGE_PX = 32;
/** The largest picture that is shown to a model, in bytes. Hosts refuse larger ones, or show them as text. */
const MAX_MODEL_PICTURE_BYTES = 100_000;
const MODEL_PICTURE_QUALITY = 75;

const RegionSchema = Type.Object(
  {
    x: Type.Integer({ minimum: 0 }),
    y: Type.Integer({ minimum: 0 }),
    width: Type.Integer({ minimum: 1 }),
    height: Type.Integer({ minimum: 1 }),
  },
  { additionalProperties: false },
);

export const lookTool = defineTool({
  name: 'look',
  title: 'Look at an image',
  description: `Shows an image, or a region of it in pixels, at most ${MAX_MODEL_PICTURE_EDGE_PX} px. Counts one run.`,
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: {
    input: ImageInputSchema,
    region: Type.Optional(RegionSchema),
    size: Type.Optional(
      Type.Integer({
        minimum: MIN_EDGE_PX,
        maximum: MAX_MODEL_PICTURE_EDGE_PX,
        description: 'Longest edge.',
      }),
    ),
  },
  output: { width: Type.Integer(), height: Type.Integer() },
  async run({ input, region, size = MAX_MODEL_PICTURE_EDGE_PX }, source) {
    const image = await openImageInput(input, source);
    const { picture, width, height } = await renderModelPicture(image, source.service, { region, size });
    return { structured: { width, height }, pictures: [picture] };
  },
});

/** Makes the picture of an image that a model sees: the first frame, or a region of it, as WebP. */
export async function renderModelPicture(
  image: ToolImage,
  service: Transport,
  { region, size }: { region?: object | undefined; size: number },
): Promise<{ picture: ToolPicture; width: number; height: number }> {
  // A small region is enlarged, so that the model sees its details.
  const scaled = { width: size, height: size, fit: 'inside', enlarge: region !== undefined, frame: 'first' };
  const steps = [
    ...(region === undefined ? [] : [{ op: 'crop', parameters: region }]),
    { op: 'resize', parameters: scaled },
  ];
  const drawWith = async (last: object) => {
    const body = imageRequestBody(image, { steps: [...steps, last] });
    const call = { method: 'POST', path: '/images/transform', body, accept: 'image/*' };
    const picture = new Picture(await service.bytes(call));
    return { picture, data: Buffer.from(await picture.bytes()) };
  };
  let shown = await drawWith({
    op: 'convert',
    parameters: { format: 'webp', quality: MODEL_PICTURE_QUALITY },
  });
  if (shown.data.length > MAX_MODEL_PICTURE_BYTES)
    shown = await drawWith({
      op: 'compress',
      parameters: { format: 'webp', maxBytes: MAX_MODEL_PICTURE_BYTES },
    });
  const { width, height, contentType } = shown.picture;
  return { picture: { data: shown.data, mimeType: contentType }, width, height };
}
