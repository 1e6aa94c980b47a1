import { Type } from '@sinclair/typebox';
import type { ResultLink } from '../../../client/schema.ts';
import { jsonRequestBody } from '../../../client/transport.ts';
import { pictureResult, RESULT_OUTPUT_FIELDS, SAVE_ARGUMENTS } from '../results.ts';
import { AnyObjectSchema, defineTool } from '../tool.ts';

export const renderTool = defineTool({
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
    const call = {
      method: 'POST',
      path: '/images/render',
      body: jsonRequestBody({ templateId: template, ...page }),
    };
    if (dryRun === true) {
      const { data } = await source.service.json<object>({ ...call, query: { dryRun } });
      return { structured: { ...data } };
    }
    const query = { response: 'url' };
    const { data, headers } = await source.service.json<ResultLink>({ ...call, query });
    return pictureResult(data, headers, args, source);
  },
});
