import { Type } from '@sinclair/typebox';
import type { UploadTicket } from '../../../client/schema.ts';
import { jsonRequestBody } from '../../../client/transport.ts';
import { defineTool } from '../tool.ts';

export const ticketTool = defineTool({
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
    const call = { method: 'POST', path: '/upload-tickets', body: jsonRequestBody(bounds) };
    const { assetId: asset, url, maxBytes, expiresAt } = (await service.json<UploadTicket>(call)).data;
    return { structured: { asset, url, maxBytes, expiresAt } };
  },
});
