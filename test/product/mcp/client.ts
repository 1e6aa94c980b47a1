import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import sharp from 'sharp';
import type { Test } from 'tap';
import type { Answer } from '../../support/harness.ts';

/** The revisions of the protocol that are served. */
export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof REVISIONS)[number];

/** A client of the SDK that speaks one revision, connected. Ends with the test. */
export async function connected(t: Test, transport: Transport, revision: Revision): Promise<Client> {
  const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

/** The same over HTTP with a key. */
export function connectedTo(t: Test, url: string, key: string, revision: Revision = '2026-07-28') {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return connected(t, new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }), revision);
}

/** What a tool answered. */
export interface Answered {
  isError: boolean;
  data: Answer['json'];
  text: string;
  pictures: Array<{ data: string; mimeType: string }>;
}

/** Calls a tool. */
export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<Answered> {
  const result = (await client.callTool(
    { name, arguments: args },
    signal === undefined ? {} : { signal },
  )) as CallToolResult;
  const texts = result.content.flatMap((block) => (block.type === 'text' ? block.text : []));
  const pictures = result.content.flatMap((block) => (block.type === 'image' ? block : []));
  return {
    isError: result.isError === true,
    data: result.structuredContent,
    text: texts.join('\n'),
    pictures: pictures.map(({ data, mimeType }) => ({ data, mimeType })),
  };
}

/** A photo of noise, which compresses badly: blue on the left and red on the right. */
export async function photo(width = 1_200, height = 900): Promise<Uint8Array<ArrayBuffer>> {
  const half = { create: { width: width / 2, height, channels: 3 as const, background: '#c02020' } };
  const right = await sharp(half).png().toBuffer();
  const picture = sharp({ create: { width, height, channels: 3, background: '#2020c0' } }).composite([
    { input: right, left: width / 2, top: 0 },
  ]);
  return new Uint8Array(await picture.jpeg().toBuffer());
}
