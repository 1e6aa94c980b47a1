// needs: server, browser
import sharp from 'sharp';
import t from 'tap';
import { warningsText } from '../../../src/platform/http/hooks/warnings.ts';
import { animatedPng } from '../../support/animated-png.ts';
import { sharedServer } from '../../support/harness.ts';
import { image, needsImages } from '../../support/images.ts';
import { ended, submit } from '../jobs/jobs.ts';

const server = await sharedServer();
const { key } = await server.account({ credits: 100 });

type Parameters = Record<string, unknown>;
type Step = { op: string; parameters: Parameters };

async function upload(picture: Buffer, type: string): Promise<string> {
  const { json } = await server.call('/assets/upload', { key, body: new Uint8Array(picture), type });
  return json.data.id;
}

async function warningsOf(assetId: string, steps: readonly Step[]): Promise<string | null> {
  const answer = await server.call('/images/transform', { key, json: { assetId, steps } });
  if (answer.status !== 200) return JSON.stringify(answer.json);
  return lossesIn(answer.headers.get('x-service-warnings') ?? '');
}

/** The warnings without `larger_than_input`, which small pictures in any format can have. */
function lossesIn(warnings: string): string | null {
  const losses = warnings.split(',').filter((warning) => warning !== 'larger_than_input');
  return losses.join() || null;
}

const plain = { width: 64, height: 48, channels: 3, background: '#a05030' } as const;
const photo = await upload(await sharp({ create: plain }).jpeg().toBuffer(), 'image/jpeg');
const opaque = await upload(
  await sharp({ create: { ...plain, channels: 4, background: { r: 9, g: 99, b: 9, alpha: 1 } } })
    .png()
    .toBuffer(),
  'image/png',
);
const holed = await upload(
  await sharp({ create: { ...plain, channels: 4, background: { r: 9, g: 99, b: 9, alpha: 1 } } })
    .composite([
      {
        input: { create: { width: 20, height: 20, channels: 4, background: '#ffffff' } },
        blend: 'dest-out',
        left: 30,
        top: 20,
      },
    ])
    .png()
    .toBuffer(),
  'image/png',
);
const drawing = await upload(
  Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60"><circle cx="30" cy="30" r="20"/></svg>',
  ),
  'image/svg+xml',
);
const strip = Buffer.concat([40, 120, 200].map((grey) => Buffer.alloc(64 * 48 * 3, grey)));
const raw = { width: 64, height: 3 * 48, channels: 3, pageHeight: 48 } as const;
const animation = await upload(await sharp(strip, { raw }).gif().toBuffer(), 'image/gif');
const stills = await Promise.all(
  ['#400000', '#800000', '#c00000'].map((background) =>
    sharp({ create: { ...plain, background } })
      .png()
      .toBuffer(),
  ),
);
const animatedPicture = await upload(animatedPng(stills), 'image/png');
const pictureAndAnimation = await upload(animatedPng(stills, { hasStillPicture: true }), 'image/png');
const document = await upload(await sharp(strip, { raw }).tiff().toBuffer(), 'image/tiff');

const step = (op: string, parameters: Parameters): Step => ({ op, parameters });
const text = (parameters: Parameters) => step('text', { text: 'Summer sale begins today', ...parameters });
const layer = (parameters: Parameters) => step('overlay', { layerAssetId: photo, ...parameters });

/** Calls that lose something without being asked to, and the warnings that they give. */
const LOSSES: readonly (readonly [what: string, assetId: string, steps: Step[], told: RegExp])[] = [
  ['holes on white', holed, [step('convert', { format: 'jpeg' })], /^alpha_lost$/],
  ['holes that are scaled', holed, [step('resize', { width: 32, format: 'jpeg' })], /^alpha_lost$/],
  ['a TIFF of JPEG strips', holed, [step('convert', { format: 'tiff', quality: 80 })], /^alpha_lost$/],
  ['the ground of a drawing', drawing, [step('convert', { format: 'jpeg' })], /^alpha_lost$/],
  ['round corners of a JPEG', photo, [step('round_corners', { radius: 10 })], /^alpha_lost$/],
  ['opacity of a JPEG', photo, [step('alpha', { opacity: 0.5 })], /^alpha_lost$/],
  ['frames', animation, [step('convert', { format: 'png' })], /^frames_lost:2$/],
  ['frames of a step', animation, [step('placeholder', {})], /^frames_lost:2$/],
  ['frames of an animated PNG', animatedPicture, [step('convert', { format: 'webp' })], /^frames_lost:2$/],
  ['frames beside a still picture', pictureAndAnimation, [step('resize', { width: 9 })], /^frames_lost:2$/],
  ['pages', document, [step('convert', { format: 'png' })], /^pages_lost:2$/],
  ['a long text', photo, [text({ size: 30 })], /^text_cut:\d+x\d+$/],
  ['a turned text', photo, [text({ size: 14, rotate: 90 })], /^text_cut:\d+x\d+$/],
  ['a large layer', opaque, [layer({ x: 10, y: 0 })], /^layer_cut:64x48$/],
  ['a layer within a margin', opaque, [layer({ margin: 5, scale: 1 })], /^layer_cut:64x48$/],
  ['a layer beside the picture', opaque, [layer({ x: 64, y: 0 })], /^layer_outside:64x48$/],
];

/** Calls that ask for what they lose, or lose nothing. */
const HARMLESS: readonly (readonly [what: string, assetId: string, steps: Step[]])[] = [
  ['no hole', opaque, [step('convert', { format: 'jpeg' })]],
  ['holes that stay', holed, [step('convert', { format: 'webp' })]],
  ['a background', holed, [step('convert', { format: 'jpeg', background: '#ff0000' })]],
  ['flattened first', holed, [step('flatten', {}), step('convert', { format: 'jpeg' })]],
  ['the hole is cropped away', holed, [step('crop', { x: 0, y: 0, width: 9, height: 9, format: 'jpeg' })]],
  ['all frames', animation, [step('convert', { format: 'webp' })]],
  ['a frame', animation, [step('convert', { format: 'png', frame: 'first' })]],
  ['one frame of some', animation, [step('convert', { format: 'png', maxFrames: 1 })]],
  [
    'the first frame of an animated PNG',
    animatedPicture,
    [step('convert', { format: 'webp', frame: 'first' })],
  ],
  ['a page', document, [step('convert', { format: 'png', frame: 1 })]],
  ['a text that fits', photo, [text({ size: 6 })]],
  ['a layer that fits', opaque, [layer({ scale: 0.5 })]],
  [
    'only clear pixels of a layer outside',
    opaque,
    [step('overlay', { layerAssetId: drawing, x: -5, y: -5 })],
  ],
  ['tiles', opaque, [layer({ tile: true })]],
];

t.test('a call warns of what was cut away or lost without being asked for', async (t) => {
  for (const [what, assetId, steps, told] of LOSSES)
    t.match((await warningsOf(assetId, steps)) ?? 'nothing', told, what);
});

t.test('a call has no warning if nothing was lost or the loss was asked for', async (t) => {
  for (const [what, assetId, steps] of HARMLESS) t.equal(await warningsOf(assetId, steps), null, what);
});

t.test('an item of a job and a preset give the same warnings', async (t) => {
  for (const [what, assetId, steps, told] of LOSSES) {
    const sent = await submit(server, key, { steps, assetIds: [assetId] });
    const { items } = await ended(server, key, sent.json.data.id);
    t.match(lossesIn(warningsText(items[0].warnings ?? [])), told, what);
  }
  const steps = [text({ size: 30 }), step('convert', { format: 'jpeg' })];
  await server.call('/presets', { key, json: { name: 'Sale', slug: 'sale', steps } });
  const answer = await server.call('/images/transform', { key, json: { assetId: holed, preset: 'sale' } });
  t.match(answer.headers.get('x-service-warnings'), /text_cut:\d+x\d+,alpha_lost/);
});

t.test('each of several outputs warns of its own losses, whichever was made first', async (t) => {
  const outputs = [
    { name: 'asked', op: 'convert', parameters: { format: 'png', frame: 'first' } },
    { name: 'lost', op: 'convert', parameters: { format: 'png' } },
    { name: 'moving', op: 'convert', parameters: { format: 'webp' } },
    { name: 'flat', op: 'convert', parameters: { format: 'jpeg' } },
  ];
  const { json } = await server.call('/images/transform?response=url', {
    key,
    json: { assetId: animation, outputs },
  });
  t.same(
    json.data.outputs.map(({ warnings = '' }) => lossesIn(warnings)),
    [null, 'frames_lost:2', null, 'frames_lost:2'],
  );
});

t.test('a dry run warns of the frames and pages that will be lost', async (t) => {
  for (const [assetId, told] of [
    [animation, 'frames_lost:2'],
    [document, 'pages_lost:2'],
    [animatedPicture, 'frames_lost:2'],
  ] as const) {
    const json = { assetId, op: 'convert', parameters: { format: 'png' } };
    const { headers } = await server.call('/images/transform?dryRun=true', { key, json });
    t.equal(headers.get('x-service-warnings'), told);
  }
});

t.test('frames that are not read are refused in the same words, sent or stored, run or dry', async (t) => {
  const sent = animatedPng(stills);
  const choices = [{ frame: 'all' }, { frame: 1 }, { maxFps: 5 }, { frames: '0..1' }];
  for (const choice of choices) {
    const parameters = { ...choice, format: 'webp' };
    const query = new URLSearchParams(JSON.parse(JSON.stringify(parameters)));
    const answers = await Promise.all([
      server.call(`/images/transform?op=convert&${query}`, {
        key,
        body: new Uint8Array(sent),
        type: 'image/png',
      }),
      ...['', '?dryRun=true'].map((dry) =>
        server.call(`/images/transform${dry}`, {
          key,
          json: { assetId: animatedPicture, op: 'convert', parameters },
        }),
      ),
    ]);
    const messages = answers.map(({ status, json }) => `${status} ${json?.error?.message}`);
    t.same(new Set(messages), new Set([messages[0]]), JSON.stringify(choice));
    t.match(messages[0], /^400 .*but only the first picture of an animated PNG or AVIF is read/);
  }
  t.equal(await warningsOf(opaque, [step('convert', { frame: 0, format: 'webp' })]), null);
});

t.test(
  'a call warns of the frames of an AVIF sequence, and of a sent animated PNG',
  needsImages(t),
  async (t) => {
    const sequence = Buffer.from(image('animated/colors-animated.avif'));
    const sent: [string, Buffer, string][] = [
      ['image/avif', sequence, 'frames_lost:4'],
      ['image/png', animatedPng(stills), 'frames_lost:2'],
    ];
    for (const [type, file, told] of sent) {
      t.equal(
        await warningsOf(await upload(file, type), [step('resize', { width: 9 })]),
        told,
        `${type} stored`,
      );
      for (const query of ['', '&dryRun=true']) {
        const path = `/images/transform?op=convert&format=webp${query}`;
        const { headers } = await server.call(path, { key, body: new Uint8Array(file), type });
        t.equal(lossesIn(headers.get('x-service-warnings') ?? ''), told, type + query);
      }
    }
  },
);

t.test('frames that are not read are refused by that reason', async (t) => {
  const chosen = ['frame=all', 'frame=1', 'frames=0..1', 'maxFps=5', 'everyNth=2'];
  for (const query of chosen) {
    const path = `/images/transform?op=convert&format=webp&${query}`;
    const { json } = await server.call(path, {
      key,
      body: new Uint8Array(animatedPng(stills)),
      type: 'image/png',
    });
    t.equal(json.error?.code, 'invalid_param', query);
    t.match(json.error?.message, 'only the first picture of an animated PNG or AVIF is read', query);
  }
});

t.test('only the page that is read counts against the limit of pixels', async (t) => {
  const page = Buffer.from(
    await sharp({ create: { ...plain, width: 6000, height: 5000 } })
      .toColourspace('b-w')
      .raw()
      .toBuffer(),
  );
  const pages = { width: 6000, height: 10_000, channels: 1, pageHeight: 5000 } as const;
  const large = await sharp(Buffer.concat([page, page]), { raw: pages })
    .tiff({ compression: 'deflate' })
    .toBuffer();
  for (const format of ['png', 'webp']) {
    const path = `/images/transform?op=resize&width=9&format=${format}`;
    const answer = await server.call(path, { key, body: new Uint8Array(large), type: 'image/tiff' });
    t.equal(answer.status, 200, format);
    t.equal(answer.headers.get('x-service-warnings'), 'pages_lost:1', format);
  }
});

t.test('a picture that loses its transparency looks as it does with a white background', async (t) => {
  const call = (background: object) =>
    server.call('/images/transform', {
      key,
      json: { assetId: holed, op: 'resize', parameters: { width: 32, format: 'jpeg', ...background } },
    });
  const [told, asked] = await Promise.all([call({}), call({ background: '#ffffff' })]);
  const pixelsOf = ({ bytes }: { bytes: Uint8Array }) => sharp(bytes).raw().toBuffer();
  const [one, other] = [await pixelsOf(told), await pixelsOf(asked)];
  const largest = one.reduce((most, value, at) => Math.max(most, Math.abs(value - (other[at] ?? 0))), 0);
  t.ok(largest <= 12, `no value differs by more than 12: ${largest}`);
});

const LONG = 'The annual report of the harbour office for members and friends';
const PAGE = { width: 200, height: 100 };
const box = (style: string, words = LONG) => `<div style="font-size:16px;${style}">${words}</div>`;

/** Pages with text that cannot be seen in full, and pages with text that can. */
const CUT_PAGES: Record<string, string> = {
  'an ellipsis': box('white-space:nowrap;overflow:hidden;text-overflow:ellipsis'),
  'a clamp of lines': box(
    'display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden',
  ),
  'a low box': box('height:30px;overflow:hidden'),
  'a box around a box': `<div style="height:30px;overflow:hidden">${box('')}</div>`,
  'the lower edge of the picture': box('margin-top:70px'),
  'the right edge of the picture': box('white-space:nowrap'),
};
const WHOLE_PAGES: Record<string, string> = {
  'lines that fit': box(''),
  'a box of little height': box('overflow:hidden;line-height:1', 'Annual report'),
  'text that nobody sees': box('visibility:hidden;white-space:nowrap'),
  'text that leaves its box': box('height:10px;width:190px'),
  'text that is placed over a box': `<div style="height:20px;overflow:hidden"><p style="position:absolute;top:40px">Annual</p></div>`,
};

t.test('a render warns of text that is cut off', async (t) => {
  for (const [what, html] of Object.entries(CUT_PAGES)) {
    const { headers } = await server.call('/images/render', { key, json: { ...PAGE, html } });
    t.equal(
      headers.get('x-service-warnings'),
      `page_text_cut:${encodeURIComponent(LONG.slice(0, 30))}`,
      what,
    );
  }
  for (const [what, html] of Object.entries(WHOLE_PAGES)) {
    const { headers } = await server.call('/images/render', { key, json: { ...PAGE, html } });
    t.equal(headers.get('x-service-warnings'), null, what);
  }
});

t.test('each item of a template job warns of the text of its row that is cut off', async (t) => {
  const html = '<div style="white-space:nowrap;overflow:hidden;font-size:16px">{{title}}</div>';
  const saved = await server.call('/templates', { key, json: { name: 'Line', html, ...PAGE } });
  const rows = [{ title: 'Short' }, { title: LONG }];
  const sent = await submit(server, key, {
    op: 'render_template',
    templateId: saved.json.data.id,
    items: rows,
  });
  const { items } = await ended(server, key, sent.json.data.id);
  t.same(
    items.map(({ warnings = [] }) => warningsText(warnings)),
    ['', `page_text_cut:${encodeURIComponent(LONG.slice(0, 30))}`],
  );
});
