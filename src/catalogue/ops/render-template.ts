import { Type } from '@sinclair/typebox';
import type { RenderOp } from '../op.ts';
import { contract } from '../pixel-op.ts';

export const renderTemplate: RenderOp = {
  op: 'render_template',
  runs: 'render',
  kind: 'deterministic',
  description: 'Draws an HTML/CSS template as a PNG image, once for each row of data.',
  parameters: contract({}),
  fields: {
    templateId: Type.String({ description: 'Id or slug of the template, optionally with @version.' }),
    items: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      minItems: 1,
      maxItems: 10_000,
      description: 'Rows of data: each names the values of the placeholders and makes one image.',
    }),
  },
  produces: 'image',
  requiresAssets: false,
  requiresPrompt: false,
  jobType: 'render',
  syncEndpoint: '/images/render',
  example: { templateId: 'my-card@1', items: [{ title: 'Hello' }, { title: 'World' }] },
};
