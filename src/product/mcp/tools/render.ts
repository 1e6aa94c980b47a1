import { Type } from '@sinclair/typebox';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { ResultLink } from '../../transforms/results.ts';
import { pictureResult, RESULT_OUTPUT_FIELDS, SAVE_ARGUMENTS } from '../results.ts';
import { AnyObjectSchema, Tool } from '../tool.ts';

export const renderTool = Tool.of({
  name: 'render',
  title: 'Render HTML to a picture',
  description:
    'Draws a template (social-card, or one of yours), or html with css, width and height, with data for its {{variables}}. Pictures in it: asset://<asset id>. Counts one run.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: {
    template: Type.Optional(Type.String()),
    html: Type.Optional(Type.String()),
    css: Type.Optional(Type.String()),
    width: Type.Optional(Type.Integer()),
    height: Type.Optional(Type.Integer()),
    data: Type.Optional(AnyObjectSchema),
    format: Type.Optional(Type.String({ description: 'png, jpeg, webp, avif.' })),
    dryRun: Type.Optional(Type.Boolean()),
    ...SAVE_ARGUMENTS,
  },
  output: RESULT_OUTPUT_FIELDS,
  async run(args, source) {
    const { template, dryRun, save: _, preview: __, timing: ___, ...page } = args;
    const json = withoutAbsentFields({ templateId: template, ...page });
    if (dryRun === true) {
      const { data } = await source.service.call<object>('POST', '/images/render?dryRun=true', { json });
      return { structured: { ...data } };
    }
    const path = '/images/render?response=url';
    const { data, headers } = await source.service.call<ResultLink>('POST', path, { json });
    return pictureResult(data, headers, args, source);
  },
});
