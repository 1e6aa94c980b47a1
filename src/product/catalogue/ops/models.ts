import { type TProperties, Type } from '@sinclair/typebox';
import { argumentsSchema } from '../../../../workers/image/operations/arguments.ts';
import * as parameter from '../../../../workers/image/operations/parameter.ts';
import type { ModelCategory } from '../../models/models.ts';
import type { AiOp } from '../op.ts';
import { promptField } from '../parameters.ts';

interface ImageModelOpSource<N extends ModelCategory>
  extends Pick<
    AiOp<N>,
    | 'op'
    | 'description'
    | 'jobType'
    | 'requiresAssets'
    | 'requiresPrompt'
    | 'example'
    | 'findInvalidParameter'
  > {
  /**
   * The parameters that every model of the category understands. The limits of a single model are in
   * config/models.json.
   */
  parameters: TProperties;
  fields?: TProperties;
}

function defineImageModelOp<const N extends ModelCategory>(source: ImageModelOpSource<N>): AiOp<N> {
  const { parameters, fields = {}, ...rest } = source;
  return {
    ...rest,
    runs: 'model',
    kind: 'ai',
    parameters: argumentsSchema(parameters, { open: true }),
    fields,
    produces: 'image',
    sendsParametersUnchanged: true,
  };
}

export const generateOp = defineImageModelOp({
  op: 'generate',
  description: 'Makes one or more new images from a prompt alone.',
  parameters: {
    size: parameter.optional(
      Type.String({
        pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$',
        examples: ['1024x1024'],
        description: "Width and height in pixels, such as 1024x1024; the model's own when left out.",
      }),
    ),
    seed: parameter.optional(
      parameter.integer(0, 4_294_967_295, 'Repeats a result where the model can; random when left out.'),
    ),
  },
  fields: {
    prompt: promptField('What the image shows.'),
    count: parameter.integer(1, 10, 'How many images to make.', { default: 1 }),
  },
  jobType: 'ai-generate',
  requiresAssets: false,
  requiresPrompt: true,
  example: { prompt: 'A lighthouse at dusk, watercolour', count: 1, parameters: { size: '1024x1024' } },
});

export const editOp = defineImageModelOp({
  op: 'edit',
  description: 'Changes each picture as the prompt says.',
  parameters: {
    seed: parameter.optional(
      parameter.integer(0, 4_294_967_295, 'Repeats a result where the model can; random when left out.'),
    ),
  },
  fields: {
    prompt: promptField('What to change.'),
    assetIds: Type.Array(parameter.assetId('One asset.'), {
      minItems: 1,
      maxItems: 10_000,
      description: 'The pictures to change, one item each.',
    }),
  },
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: true,
  example: { prompt: 'Replace the sky with a clear sunset' },
});

export const upscaleOp = defineImageModelOp({
  op: 'upscale',
  description: 'Enlarges each picture and fills in fine detail.',
  parameters: {
    scale: Type.Unsafe<2 | 4>({
      type: 'integer',
      enum: [2, 4],
      default: 2,
      description: 'Factor by which width and height grow.',
    }),
  },
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: false,
  example: { parameters: { scale: 2 } },
});

export const removeBackgroundOp = defineImageModelOp({
  op: 'remove_background',
  description: 'Cuts the subject out of each picture and leaves the rest transparent.',
  parameters: {},
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: false,
  example: {},
});

const MAX_MARGIN_PX = 2000;
const EXPAND_SIDES = ['top', 'right', 'bottom', 'left'];

export const expandOp = defineImageModelOp({
  op: 'expand',
  description: 'Continues each picture beyond its edges.',
  parameters: {
    top: parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add above.', { default: 0 }),
    right: parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add on the right.', { default: 0 }),
    bottom: parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add below.', { default: 0 }),
    left: parameter.integer(0, MAX_MARGIN_PX, 'Pixels to add on the left.', { default: 0 }),
  },
  findInvalidParameter: (given) =>
    EXPAND_SIDES.every((side) => (given[side] ?? 0) === 0)
      ? { key: 'top', message: 'One of top, right, bottom and left must be above 0.', details: { min: 1 } }
      : undefined,
  jobType: 'ai-edit',
  requiresAssets: true,
  requiresPrompt: false,
  example: { parameters: { left: 256, right: 256 } },
});

const DEFAULT_ANALYZE_PROMPT =
  'Describe the picture: what it shows, its size and its main colour, whether it has text, and words to find it by.';

const DEFAULT_ANSWER_SCHEMA = {
  type: 'object',
  properties: {
    description: { type: 'string', description: 'What the picture shows, in one or two sentences.' },
    width: { type: 'integer', description: 'Pixels.' },
    height: { type: 'integer', description: 'Pixels.' },
    dominantColor: { type: 'string', description: '#rrggbb' },
    hasText: { type: 'boolean', description: 'Whether there is writing in the picture.' },
    tags: { type: 'array', items: { type: 'string' }, description: 'Words to find it by.' },
  },
  required: ['description', 'width', 'height', 'dominantColor', 'hasText', 'tags'],
  additionalProperties: false,
};

export const analyzeOp: AiOp<'analyze'> = {
  op: 'analyze',
  runs: 'model',
  kind: 'ai',
  description: 'Answers a question about each picture as JSON of a given schema.',
  parameters: argumentsSchema({
    schema: parameter.optional(
      Type.Record(Type.String(), Type.Unknown(), {
        minProperties: 1,
        maxProperties: 100,
        description:
          'JSON Schema of the answer; defaultSchema when left out. The smallest answer to it has at most 10,000 values.',
      }),
    ),
  }),
  fields: { prompt: promptField('What to find out.', { default: DEFAULT_ANALYZE_PROMPT }) },
  produces: 'json',
  requiresAssets: true,
  requiresPrompt: false,
  jobType: 'parse',
  sendsParametersUnchanged: false,
  defaultPrompt: DEFAULT_ANALYZE_PROMPT,
  defaultSchema: DEFAULT_ANSWER_SCHEMA,
  example: { prompt: 'Which products are in the picture?' },
};
