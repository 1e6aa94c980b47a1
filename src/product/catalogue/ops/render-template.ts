import { Type } from '@sinclair/typebox';
import { argumentsSchema } from '../../../../workers/image/operations/arguments.ts';
import { RENDER_PAGE_FIELDS } from '../../templates/schema.ts';
import type { RenderOp } from '../op.ts';

const TEMPLATE_ID = Type.String({
  description:
    'Id or slug of the template, optionally with @version; social-card is the short name of a built-in.',
});

export const renderTemplateOp: RenderOp<'render_template'> = {
  op: 'render_template',
  runs: 'render',
  kind: 'deterministic',
  description:
    'Draws an HTML/CSS template as a PNG image: POST /api/v1/images/render takes templateId (or html, width and height) and data, one row; a job takes templateId and items, one row per image.',
  parameters: argumentsSchema({}),
  fields: {
    templateId: TEMPLATE_ID,
    items: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      minItems: 1,
      maxItems: 10_000,
      description: 'Jobs only. Rows of data: each names the values of the placeholders and makes one image.',
    }),
  },
  syncFields: {
    templateId: Type.Optional(TEMPLATE_ID),
    ...Type.Partial(Type.Object(RENDER_PAGE_FIELDS)).properties,
    data: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'One row: the values of the placeholders by name; items is for jobs.',
      }),
    ),
  },
  produces: 'image',
  requiresAssets: false,
  requiresPrompt: false,
  jobType: 'render',
  syncEndpoint: '/images/render',
  syncExample: { templateId: 'builtin-template-social-card', data: { title: 'Hello' } },
  example: { templateId: 'builtin-template-social-card', items: [{ title: 'Hello' }, { title: 'World' }] },
};
