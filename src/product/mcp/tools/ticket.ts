import { Type } from '@sinclair/typebox';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { UploadTicket } from '../../assets/schema.ts';
import { Tool } from '../tool.ts';

export const ticketTool = Tool.of({
  name: 'ticket',
  title: 'Get an upload address',
  description:
    'An address for one upload by POST without a key, within 15 minutes, and the asset that it will be.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: {
    name: Type.Optional(Type.String({ description: 'Of the file.' })),
    contentTypes: Type.Optional(Type.Array(Type.String(), { description: 'Such as image/png.' })),
    maxBytes: Type.Optional(Type.Integer()),
  },
  output: { asset: Type.String(), url: Type.String(), maxBytes: Type.Integer(), expiresAt: Type.String() },
  async run(bounds, { service }) {
    const { data } = await service.call<UploadTicket>('POST', '/upload-tickets', {
      json: withoutAbsentFields(bounds),
    });
    const { assetId: asset, url, maxBytes, expiresAt } = data;
    return { structured: { asset, url, maxBytes, expiresAt } };
  },
});
