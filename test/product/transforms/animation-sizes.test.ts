// needs: server, waits
import sharp from 'sharp';
import t from 'tap';
import { MAX_PIXELS } from '../../../workers/protocol.ts';
import type { Answer } from '../../support/harness.ts';
import { image, needsImages } from '../../support/images.ts';
import { openCalls, pictureOf, type Query, rasterOf, refusalOf } from './calls.ts';

const corpus = needsImages(t);
// Whether a search ends in time is no matter here.
const calls = await openCalls(t, { TRANSFORM_TIMEOUT_MS: '60000' });

const drawing = (query: Query) =>
  calls.transform({ op: 'compress', ...query }, image('animated/sample_big.gif'), 'image/gif');

const framesOf = async (file: Uint8Array) => (await sharp(file).metadata()).pages ?? 1;

t.test('a drawing in motion is made smaller by fewer colours, with all its frames', corpus, async (t) => {
  const selection = { everyNth: 16, format: 'webp' };
  const free = await drawing({ ...selection, maxBytes: 1_000_000 });
  const exact = await pictureOf(free);
  t.ok(free.bytes.length > 400_000, `${free.bytes.length} bytes without a loss`);
  const close = await drawing({ ...selection, maxBytes: 250_000 });
  const picture = await pictureOf(close);
  t.ok(close.bytes.length <= 250_000 && close.bytes.length > 200_000, `${close.bytes.length} bytes`);
  t.equal(await framesOf(close.bytes), 17);
  t.equal(close.headers.get('x-service-warnings'), null);
  let largest = 0;
  for (const [at, value] of picture.data.entries())
    largest = Math.max(largest, Math.abs(value - (exact.data[at] as number)));
  t.ok(largest > 0 && largest <= 9, `no channel differs by more than half a step: ${largest}`);
});

t.test('a GIF has steps between 16 and 256 colours', corpus, async (t) => {
  const answer = await drawing({ everyNth: 16, format: 'gif', maxBytes: 290_000 });
  t.equal(answer.status, 200);
  t.ok(answer.bytes.length > 200_000 && answer.bytes.length <= 290_000, `${answer.bytes.length} bytes`);
  t.equal(await framesOf(answer.bytes), 17);
});

/** Sends a call, and then the first proposal of its refusal as it is. */
async function answerByProposal(
  query: Query,
  file: Uint8Array,
): Promise<{ refusal: Answer; answer: Answer }> {
  const refusal = await calls.transform(query, file, 'image/gif');
  const [first] = refusal.json.error.details.instead;
  return { refusal, answer: await calls.transform({ ...query, ...first.parameters }, file, 'image/gif') };
}

t.test('the first proposal of a refusal is answered, and keeps what looks acceptable', corpus, async (t) => {
  const file = image('animated/sample_big.gif');
  for (const [format, maxBytes, least] of [
    ['webp', 220_000, 8],
    ['gif', 180_000, 8],
  ] as const) {
    const query = { op: 'compress', format, maxBytes, everyNth: 4 };
    const { refusal, answer } = await answerByProposal(query, file);
    t.match(refusalOf(refusal), { status: 400, code: 'invalid_param', param: 'maxBytes' }, format);
    t.match(refusalOf(refusal).message, /its frames fewer/);
    t.equal(answer.status, 200, format);
    t.ok(answer.bytes.length <= maxBytes, `${answer.bytes.length} bytes`);
    t.ok((await framesOf(answer.bytes)) >= least, `${await framesOf(answer.bytes)} frames`);
    t.notMatch(answer.headers.get('x-service-warnings') ?? '', /low_quality/);
  }
});

t.test(
  'a file of too many pixels is refused with frames that are few enough for the bytes too',
  corpus,
  async (t) => {
    const file = image('animated/gifplayer-muybridge.gif');
    for (const format of ['webp', 'gif']) {
      const { refusal, answer } = await answerByProposal({ op: 'compress', format, maxBytes: 100_000 }, file);
      t.match(refusalOf(refusal), { status: 400, code: 'unsupported_format' });
      t.equal(answer.status, 200, format);
      t.ok(answer.bytes.length <= 100_000, `${answer.bytes.length} bytes`);
      t.ok((await framesOf(answer.bytes)) >= 20, `${await framesOf(answer.bytes)} frames`);
    }
  },
);

t.test(
  'the proposals for an animation with too many pixels leave out hardly more frames than necessary',
  corpus,
  async (t) => {
    const file = image('animated/gifplayer-muybridge.gif');
    const planned = (query: Query) =>
      calls.transform(
        { op: 'compress', format: 'webp', maxBytes: 25_000_000, dryRun: true, ...query },
        file,
        'image/gif',
      );
    const refusal = await planned({});
    t.match(refusalOf(refusal), { status: 400, code: 'unsupported_format' });
    const proposals: { parameters: Query }[] = refusal.json.error.details.instead;
    t.ok(proposals.length > 1);
    const kept: number[] = [];
    for (const { parameters } of proposals) {
      const answer = await planned(parameters);
      t.equal(answer.status, 200, JSON.stringify(parameters));
      kept.push(answer.json.data.frames);
    }
    const { width = 0, height = 0 } = await sharp(file).metadata();
    const mostFrames = MAX_PIXELS / (width * height);
    t.ok(Number(kept[0]) > 0.9 * mostFrames, `${kept[0]} frames, of ${Math.floor(mostFrames)} that fit`);
    t.same(
      kept,
      kept.toSorted((one, other) => other - one),
      'the first keeps the most',
    );
  },
);

/** Frames of a picture that moves by a few pixels from one to the next. */
async function panOver(photo: Uint8Array, count: number): Promise<Uint8Array> {
  const frame = { width: 240, height: 160 };
  const frames = await Promise.all(
    Array.from({ length: count }, (_, at) =>
      sharp(photo)
        .resize(500)
        .extract({ ...frame, left: 8 * at, top: 4 * at })
        .removeAlpha()
        .raw()
        .toBuffer(),
    ),
  );
  const raw = { width: 240, height: 160 * count, channels: 3, pageHeight: 160 } as const;
  return sharp(Buffer.concat(frames), { raw }).webp({ quality: 95, effort: 0 }).toBuffer();
}

t.test('a poor file is answered with a warning that names what would look better', corpus, async (t) => {
  const photo = image('photos/kodak-1.png');
  const moving = await panOver(photo, 12);
  const poor = { op: 'compress', format: 'webp', maxBytes: 30_000 };
  const answer = await calls.transform(poor, moving, 'image/webp');
  t.equal(answer.status, 200);
  t.ok(Number(answer.headers.get('x-service-quality')) < 20, answer.headers.get('x-service-quality') ?? '');
  t.match(answer.headers.get('x-service-warnings'), /low_quality:fewer_frames/);
  const better = await calls.transform({ ...poor, everyNth: 4 }, moving, 'image/webp');
  t.ok(Number(better.headers.get('x-service-quality')) >= 20, better.headers.get('x-service-quality') ?? '');
  t.equal(better.headers.get('x-service-warnings'), null);

  const still = await sharp(moving).png().toBuffer();
  const small = await calls.transform({ op: 'compress', format: 'jpeg', maxBytes: 2_500 }, still);
  t.match(small.headers.get('x-service-warnings'), /low_quality:smaller_picture/);
  t.equal((await rasterOf(small.bytes)).width, 240);
});
