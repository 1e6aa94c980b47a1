// needs: server
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';
import { job, reference, transform } from './mistake.ts';
import { asSent, type Call } from './wrong-calls.ts';

const server = await sharedServer();
const { key } = await server.account();
const create = { width: 300, height: 200, channels: 3, background: 'red' } as const;
const png = new Uint8Array(await sharp({ create }).png().toBuffer());
const assetId: string = (await server.call('/assets/upload', { key, body: png, type: 'image/png' })).json.data
  .id;

/** What an answer says of a mistake: its changes, or its sentence. */
type Said = { param: string } & ({ fix: object[] } | { message: RegExp; instead?: object[] });

const width = { param: 'widht', fix: [{ param: 'widht', rename: 'width' }] };
const rows: Array<[what: string, call: Call, mistakes: Said[]]> = [
  [
    'a misspelt name beside an unknown one',
    transform({ op: 'resize', widht: 9, zzqx: 1 }),
    [width, { param: 'zzqx', message: /zzqx is not a parameter of resize/ }],
  ],
  [
    'an unknown name before a misspelt one',
    transform({ op: 'resize', zzqx: 1, widht: 9 }),
    [width, { param: 'zzqx', message: /zzqx is not a parameter of resize/ }],
  ],
  [
    'a limit of another op beside a misspelt name',
    transform({ op: 'resize', widht: 9, maxKB: 20 }),
    [
      width,
      {
        param: 'maxKB',
        message: /maxKB is not a parameter of resize/,
        instead: [{ steps: [{ op: 'resize' }, { op: 'compress', parameters: { maxBytes: 20_000 } }] }],
      },
    ],
  ],
  [
    'a value out of bounds before one with its unit',
    transform({ op: 'resize', width: 99_999, quality: '80%' }),
    [
      { param: 'quality', fix: [{ param: 'quality', replace: 80 }] },
      { param: 'width', message: /width is 99999/ },
    ],
  ],
  [
    'a misspelt name beside the op, and an unknown one',
    reference(assetId, { op: 'resize', widht: 9, token: 'a' }),
    [
      { param: 'widht', fix: [{ param: 'widht', rename: 'parameters.width' }] },
      { param: 'token', message: /token is not a/ },
    ],
  ],
  [
    'a foreign name that leads astray, and a misspelt one',
    job({ presetId: 'builtin-avatar', assetIds: [assetId], variables: { width: 9 }, colection: 'a' }),
    [
      { param: 'colection', fix: [{ param: 'colection', rename: 'collection' }] },
      { param: 'variables', message: /leave it out/ },
    ],
  ],
  [
    'faults of two steps',
    job({
      assetIds: [assetId],
      steps: [
        { op: 'resize', parameters: { width: 9, height: 'tall' } },
        { op: 'blur', parameters: { radius: 3 } },
      ],
    }),
    [
      { param: 'steps[0].parameters.height', message: /height is "tall"/ },
      {
        param: 'steps[1].parameters.radius',
        fix: [{ param: 'steps[1].parameters.radius', rename: 'steps[1].parameters.sigma' }],
      },
    ],
  ],
];

t.test('each of several mistakes has its own fix, or its own sentence', async (t) => {
  for (const [what, call, mistakes] of rows) {
    const { path, query, json } = asSent(call);
    const address = `${path}?${new URLSearchParams({ ...(query as Record<string, string>), dryRun: 'true' })}`;
    const sent = json === undefined ? { body: png, type: 'image/png' } : { json };
    const { status, json: answer } = await server.call(address, { method: 'POST', key, ...sent });
    const { details } = answer.error;
    t.match({ status, mistakes: details.mistakes }, { status: 400, mistakes }, what);
    t.equal(details.mistakes?.length, mistakes.length, what);
    t.equal(details.fix, undefined, what);
  }
});
