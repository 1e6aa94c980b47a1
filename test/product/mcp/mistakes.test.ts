// needs: server
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';

/** Mistakes of MCP clients and of models that call tools, and what a program finds in the answer to each. */

const server = await sharedServer();
const { key } = await server.account();
const create = { width: 30, height: 20, channels: 3, background: 'red' } as const;
const body = new Uint8Array(await sharp({ create }).png().toBuffer());
const input: string = (await server.call('/assets/upload', { key, body, type: 'image/png' })).json.data.id;
const steps = [{ op: 'flip' }];

/** Sends one message, and returns the data of its error: that of the protocol, or the details of the tool's error. */
async function errorData(method: string, params: object): Promise<Record<string, unknown>> {
  const { bytes } = await server.call('//mcp', {
    ...{ method: 'POST', key, json: { jsonrpc: '2.0', id: 1, method, params } },
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
  });
  const text = Buffer.from(bytes).toString();
  const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  return error?.data ?? result?.structuredContent?.error?.details;
}

const tool = (name: string, args: unknown) => ['tools/call', { name, arguments: args }] as const;
const rows: Array<[what: string, call: readonly [string, object], data: object]> = [
  ['a tool that is misspelt', tool('opps', {}), { suggest: ['ops'] }],
  ['a tool in capitals', tool('Run', { input, steps }), { suggest: ['run'] }],
  ['a tool behind the name of its server', tool('mcp__darkroom__run', { input }), { suggest: ['run'] }],
  ['a tool behind one sign', tool('darkroom_look', { input }), { suggest: ['look'] }],
  ['an op as a tool', tool('resize', { input, width: 9 }), { suggest: ['run'] }],
  ['an op of a model as a tool', tool('upscale', { input }), { suggest: ['job'] }],
  ['a tool by another word', tool('transform', { input, steps }), { suggest: ['run'] }],
  ['an upload as a tool', tool('upload', { input }), { suggest: ['ticket'] }],
  ['metadata as a tool', tool('metadata', { input }), { suggest: ['facts'] }],
  [
    'arguments as text',
    tool('ops', '{"name":"flip"}'),
    { fix: [{ param: 'arguments', replace: { name: 'flip' } }] },
  ],
  ['arguments in a list', tool('ops', [{}]), { fix: [{ param: 'arguments', replace: {} }] }],
  ['no arguments', tool('ops', null), { fix: [{ param: 'arguments', remove: true }] }],
  ['no input', tool('run', { steps }), { missing: ['input'] }],
  [
    'an object as input',
    tool('run', { input: { assetId: input }, steps }),
    { fix: [{ param: 'input', replace: input }] },
  ],
  ['no action', tool('job', { op: 'flip' }), { suggest: ['submit', 'get', 'cancel', 'resume'] }],
  [
    'an action by another word',
    tool('job', { action: 'status', id: 'job_1' }),
    { fix: [{ param: 'action', replace: 'get' }] },
  ],
  [
    'an id by another name',
    tool('job', { action: 'get', jobId: 'job_1' }),
    { fix: [{ param: 'jobId', rename: 'id' }] },
  ],
  [
    'facts by another word',
    tool('facts', { input, include: ['exif'] }),
    { fix: [{ param: 'include[0]', replace: 'tags' }] },
  ],
  [
    'text by another word',
    tool('facts', { input, include: ['ocr'] }),
    { fix: [{ param: 'include[0]', replace: 'text' }] },
  ],
  [
    'a region as text',
    tool('look', { input, region: '0,0,10,10' }),
    { fix: [{ param: 'region', replace: { x: 0, y: 0, width: 10, height: 10 } }] },
  ],
  ['a number as a name', tool('ticket', { name: 5 }), { fix: [{ param: 'name', replace: '5' }] }],
  [
    'a fault that cannot be corrected beside one that can',
    tool('run', { input, steps: [{ op: 'resize', parameters: { widht: 9, zzqx: 1 } }] }),
    {
      mistakes: [
        {
          param: 'steps[0].parameters.widht',
          fix: [{ param: 'steps[0].parameters.widht', rename: 'steps[0].parameters.width' }],
        },
        { param: 'steps[0].parameters.zzqx', message: String },
      ],
    },
  ],
  [
    'a page that is misspelt',
    ['resources/read', { uri: 'darkroom:///docs/ops/rezise.md' }],
    { suggest: ['darkroom:///docs/ops/resize.md'] },
  ],
  [
    'a page by its name',
    ['resources/read', { uri: 'guidelines' }],
    { suggest: ['darkroom:///docs/guidelines.md'] },
  ],
  [
    'another prompt',
    ['prompts/get', { name: 'edit' }],
    { fix: [{ param: 'name', replace: 'edit_picture' }] },
  ],
  [
    'arguments of a prompt by other names',
    ['prompts/get', { name: 'edit_picture', arguments: { image: 'a', instruction: 'b' } }],
    {
      fix: [
        { param: 'arguments.image', rename: 'arguments.picture' },
        { param: 'arguments.instruction', rename: 'arguments.wish' },
      ],
    },
  ],
];

t.test('a mistake of a client is answered by what corrects it, as data', async (t) => {
  for (const [what, [method, params], data] of rows) t.match(await errorData(method, params), data, what);
});

t.test(
  'a call of a million characters gets a short answer, and of many arguments few are compared',
  async (t) => {
    const uri = `darkroom:///docs/${'../'.repeat(300_000)}`;
    t.equal((await errorData('resources/read', { uri })).uri, uri.slice(0, 200));
    const unknown = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`zq${index}`, 'x']));
    const args = { ...unknown, image: 'a', instruction: 'b' };
    const missing = ['picture', 'wish'];
    t.same(await errorData('prompts/get', { name: 'edit_picture', arguments: args }), { missing });
  },
);
