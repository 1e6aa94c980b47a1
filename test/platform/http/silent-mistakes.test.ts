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

t.test('a list of an unknown collection, and a value that another one beats, are warned of', async (t) => {
  const inCollection = await server.call('/assets/upload?collection=Summer', {
    ...image,
    body: jpeg,
    type: 'image/jpeg',
  });
  t.equal(inCollection.status, 201, JSON.stringify(inCollection.json));
  const listed = async (name: string) =>
    (await server.call(`/assets?collection=${name}`, { key })).headers.get('x-service-warnings');
  t.equal(await listed('Sumer'), 'unknown_collection:Sumer,did_you_mean:collection=Summer');
  t.equal(await listed('Winter%202'), 'unknown_collection:Winter%202');
  t.equal(await listed('Summer'), null);
  const widthsOf = async (query: string, width: number) =>
    (
      await server.call(`/images/transform?${query}`, {
        ...job({ assetId, op: 'resize', parameters: { width, format: 'webp' } }),
      })
    ).headers.get('x-service-warnings');
  t.equal(await widthsOf('width=20', 30), 'no_effect:parameters.width');
  t.equal(await widthsOf('width=20', 20), null, 'both say the same');
});

t.test('what would be done without its limit, or to another place, is refused', async (t) => {
  const assetIds = [assetId];
  const moved = (name: string, to: string) => ({ fix: [{ param: name, rename: to }] });
  const rows: Array<[what: string, path: string, sent: object, details: object]> = [
    [
      'a limit of the price in the parameters of a model',
      '/jobs?dryRun=true',
      job({ op: 'generate', prompt: 'a', parameters: { maxCredits: 1 } }),
      moved('parameters.maxCredits', 'maxCredits'),
    ],
    [
      'a wait in the parameters of a step',
      '/jobs?dryRun=true',
      job({ assetIds, steps: [{ op: 'flip', parameters: { wait: 9 } }] }),
      moved('steps[0].parameters.wait', 'wait'),
    ],
    [
      'two variants of one name',
      '/jobs?dryRun=true',
      job({
        op: 'flip',
        assetIds,
        variants: [{ name: 'a' }, { name: 'a', parameters: { axis: 'vertical' } }],
      }),
      { fix: [{ param: 'variants[1].name', replace: 'variant-2' }] },
    ],
    [
      'regions as shares cover all that the shares cover',
      '/images/transform',
      job({
        assetId,
        op: 'redact',
        parameters: { regions: [{ x: 0.101, y: 0.1, width: 0.5, height: 0.25 }] },
      }),
      {
        fix: [
          { param: 'parameters.regions[0].x', replace: 30 },
          { param: 'parameters.regions[0].y', replace: 20 },
          { param: 'parameters.regions[0].width', replace: 151 },
          { param: 'parameters.regions[0].height', replace: 50 },
        ],
      },
    ],
    [
      'an address in the query, without a body',
      '/images/transform?op=flip&url=https://example.com/a.png',
      { method: 'POST', key },
      {
        fix: [
          { param: 'Content-Type', replace: 'application/json', in: 'header' },
          { param: 'url', remove: true, in: 'query' },
          { param: 'url', add: 'https://example.com/a.png', in: 'body' },
        ],
      },
    ],
    [
      'a job for an image that is no asset yet',
      '/images/transform?op=remove_background',
      image,
      { instead: [{ job: { op: 'remove_background' } }], missing: ['assetIds'] },
    ],
    [
      'a job for an asset',
      '/images/transform',
      job({ assetId, op: 'remove_background' }),
      { instead: [{ job: { op: 'remove_background', assetIds } }], missing: undefined },
    ],
    [
      'a gravity on faces, which nothing looks for',
      '/images/transform?op=thumbnail&gravity=face',
      image,
      { suggest: ['attention', 'center'], fix: undefined },
    ],
  ];
  for (const [what, path, sent, details] of rows) {
    const { status, json } = await server.call(path, sent);
    t.match({ status, error: json.error }, { status: 400, error: { details } }, what);
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
