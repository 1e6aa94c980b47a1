// needs: server
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import type { Correction } from './wrong-calls.ts';

/** Calls that look right, are understood otherwise than they are meant, and were once answered without a word. */

const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const create = { width: 300, height: 200, channels: 3, background: 'red' } as const;
const png = new Uint8Array(await sharp({ create }).png().toBuffer());
const jpeg = new Uint8Array(await sharp({ create }).jpeg().toBuffer());
const image = { method: 'POST', key, body: png, type: 'image/png' };
const assetId: string = (await server.call('/assets/upload', image)).json.data.id;

const job = (json: object) => ({ method: 'POST', key, json });

t.test('what changes nothing is warned of', async (t) => {
  const assetIds = [assetId];
  const rows: Array<[what: string, path: string, sent: object, warnings: string | null]> = [
    ['a quality of a PNG', '/images/transform?op=resize&width=9&quality=10', image, 'no_effect:quality'],
    [
      'a quality of a JPEG',
      '/images/transform?op=resize&width=9&quality=10',
      { ...image, body: jpeg, type: 'image/jpeg' },
      null,
    ],
    [
      'a quality beside lossless',
      '/images/transform?op=convert&format=webp&lossless=true&quality=10',
      image,
      'no_effect:quality',
    ],
    [
      'a misspelt parameter of an image model',
      '/jobs?dryRun=true',
      job({ op: 'generate', prompt: 'a', parameters: { szie: '512x512' } }),
      'sandbox_model:sandbox-image,unknown_parameter:szie,did_you_mean:size',
    ],
    [
      'a parameter that no image model lists',
      '/jobs?dryRun=true',
      job({ op: 'remove_background', assetIds, parameters: { feather: 3 } }),
      'sandbox_model:sandbox-image,unknown_parameter:feather',
    ],
    [
      'right parameters of an image model',
      '/jobs?dryRun=true',
      job({ op: 'upscale', assetIds, parameters: { scale: 2 } }),
      'sandbox_model:sandbox-image',
    ],
  ];
  for (const [what, path, sent, warnings] of rows) {
    const answer = await server.call(path, sent);
    t.ok(answer.status < 300, `${what}: ${answer.json?.error?.message}`);
    t.equal(answer.headers.get('x-service-warnings'), warnings, what);
  }
});

t.test('a time that is not meant is refused', async (t) => {
  const [early, late] = ['2026-01-01', '2026-02-01'];
  const rows: Array<[what: string, path: string, sent: object, fix: Correction[]]> = [
    [
      'seconds in place of milliseconds',
      '/jobs?createdFrom=1764000000',
      { key },
      [{ param: 'createdFrom', replace: '2025-11-24T16:00:00.000Z' }],
    ],
    [
      'seconds in place of milliseconds, of the assets of a job',
      '/jobs?dryRun=true',
      job({ op: 'flip', from: { createdFrom: 1_764_000_000 } }),
      [{ param: 'from.createdFrom', replace: '2025-11-24T16:00:00.000Z' }],
    ],
    [
      'an end before the beginning',
      `/jobs?createdFrom=${late}&createdTo=${early}`,
      { key },
      [
        { param: 'createdFrom', replace: early },
        { param: 'createdTo', replace: late },
      ],
    ],
  ];
  for (const [what, path, sent, fix] of rows) {
    const { status, json } = await server.call(path, sent);
    t.match({ status, error: json.error }, { status: 400, error: { details: { fix } } }, what);
  }
  for (const right of ['0', '1764000000000', early])
    t.equal((await server.call(`/jobs?createdFrom=${right}`, { key })).status, 200, right);
});
