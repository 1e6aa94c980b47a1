// needs: server
import sharp from 'sharp';
import t from 'tap';
import { type CallOptions, sharedServer } from '../support/harness.ts';
import { samplesIn } from './reader.ts';

const server = await sharedServer();
const { key } = await server.account();
const png = new Uint8Array(
  await sharp({ create: { width: 9, height: 9, channels: 3, background: '#fff' } })
    .png()
    .toBuffer(),
);
const ASSET = 'ast_000000000000000000000000';
const resize = { op: 'resize', parameters: { width: 64 } };

/** For each code, a call that is refused with the example of its page. */
const CALLS: Readonly<Record<string, [path: string, call: CallOptions]>> = {
  invalid_param: ['/images/transform?op=resize&width=50000', { body: png, type: 'image/png' }],
  unsupported_format: ['/images/transform?op=resize&width=9', { body: png, type: 'image/jpeg' }],
  unauthorized: ['/account', {}],
  forbidden: ['/presets/builtin-avatar', { method: 'DELETE' }],
  insufficient_credit: ['/jobs', { json: { op: 'generate', prompt: 'A lighthouse at dusk', maxCredits: 1 } }],
  asset_not_found: ['/jobs', { json: { ...resize, assetIds: [ASSET] } }],
  job_not_found: ['/jobs/job_000000000000000000000000', {}],
  preset_not_found: ['/images/transform?preset=nothing', { body: png, type: 'image/png' }],
  not_found: ['/image/transform', { method: 'POST' }],
  method_not_allowed: ['/images/transform', {}],
  not_acceptable: ['/account', { headers: { accept: 'text/html' } }],
  unsupported_media_type: ['/jobs', { body: 'op=resize', type: 'text/plain' }],
};

t.test('the example of an error is what the service answers', async (t) => {
  for (const [code, [path, call]] of Object.entries(CALLS)) {
    const page = (await server.call(`//docs/errors/${code}.md`)).bytes.toString();
    const { error: example } = JSON.parse(samplesIn(page, 'json')[0] ?? '{}');
    const { json } = await server.call(path, code === 'unauthorized' ? call : { key, ...call });
    const { requestId: _, ...answered } = json.error;
    const { requestId: __, ...shown } = example;
    t.same(answered, shown, code);
  }
});
