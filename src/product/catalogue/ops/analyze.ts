import { Type } from '@sinclair/typebox';
import { argumentsSchema, optionalParameter } from '../../../../workers/image/operations/parameter.ts';
import type { AiOp } from '../op.ts';
import { promptField } from '../parameter.ts';

const DEFAULT_PROMPT =
  'Describe the picture: what it shows, its size and its main colour, whether it has text, and words to find it by.';

const DEFAULT_SCHEMA = {
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
    schema: optionalParameter(
      Type.Record(Type.String(), Type.Unknown(), {
        minProperties: 1,
        maxProperties: 100,
        description:
          'JSON Schema of the answer; defaultSchema when left out. The smallest answer to it has at most 10,000 values.',
      }),
    ),
  }),
  fields: { prompt: promptField('What to find out.', { default: DEFAULT_PROMPT }) },
  produces: 'json',
  requiresAssets: true,
  requiresPrompt: false,
  jobType: 'parse',
  parametersAsSent: false,
  defaultPrompt: DEFAULT_PROMPT,
  defaultSchema: DEFAULT_SCHEMA,
  example: { prompt: 'Which products are in the picture?' },
};
