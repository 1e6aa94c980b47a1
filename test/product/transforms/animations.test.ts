// needs: server
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { manualClock } from '../../support/clock.ts';
import { image, needsImages } from '../../support/images.ts';
import { type Calls, openCalls, pictureOf, refusalOf } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);

t.test(
  'an animation of many pixels is written with less effort where nobody chose one',
  corpus,
  async (t) => {
    // Of its 14 frames, these widths make 17 and 1.1 megapixels.
    for (const [format, width, effort] of [
      ['webp', 1_200, 0],
      ['gif', 300, 3],
    ] as const) {
      const query = { op: 'resize', width, enlarge: true, format };
      const left = await calls.transform(query, image('animated/moon_impact.gif'), 'image/gif');
      const chosen = await calls.transform(
        { ...query, effort },
        image('animated/moon_impact.gif'),
        'image/gif',
      );
      t.equal(left.status, 200);
      t.ok(left.bytes.equals(chosen.bytes), `${format} as with effort=${effort}`);
    }
  },
);

t.test('a call for one frame counts one frame against the 50 megapixels', corpus, async (t) => {
  const large = image('animated/gifplayer-muybridge.gif');
  const facts = await calls.metadata(large, 'image/gif');
  t.match(refusalOf(facts), { status: 400, code: 'unsupported_format' }, 'a description reads all frames');
  for (const query of [
    { op: 'resize', width: 100, frame: 'first' },
    { op: 'resize', width: 100, frame: 379 },
    { op: 'extract_frame', frame: 2 },
    { op: 'convert', format: 'png' },
    { op: 'placeholder' },
  ]) {
    const picture = await pictureOf(await calls.transform(query, large, 'image/gif'));
    t.ok(picture.width > 0, JSON.stringify(query));
  }
  const query = { op: 'resize', width: 40, effort: 0 };
  const all = await calls.transform(query, large, 'image/gif');
  t.match(refusalOf(all), { status: 400, code: 'unsupported_format', details: { limit: 50_000_000 } });
  t.match(all.json.error.message, /frame=first/);
  const instead: { parameters: Record<string, string | number> }[] = all.json.error.details.instead;
  t.strictSame(instead.flatMap(({ parameters }) => Object.keys(parameters)).toSorted(), [
    'everyNth',
    'frame',
    'maxFps',
  ]);
  const kept: number[] = [];
  for (const { parameters } of instead) {
    const corrected = await calls.transform({ ...query, ...parameters }, large, 'image/gif');
    t.equal(corrected.status, 200, JSON.stringify(parameters));
    kept.push((await sharp(corrected.bytes).metadata()).pages ?? 1);
  }
  t.strictSame(
    kept,
    kept.toSorted((one, other) => other - one),
    'most frames first',
  );
  const past = await calls.transform({ op: 'extract_frame', frame: 380 }, large, 'image/gif');
  t.match(refusalOf(past), { status: 400, param: 'frame', details: { limit: 379 } });
});

/** A server whose image work takes no time, on a clock that stands still, and is late where its effort is 9. */
function openLateCalls(t: Test): Promise<Calls> {
  const processFile = new URL('./late-process.ts', import.meta.url);
  return openCalls(t, {}, { imageWork: { clock: manualClock(), processFile } });
}

t.test('a call whose work fills its deadline is told what takes less', corpus, async (t) => {
  const late = await openLateCalls(t);
  const query = { op: 'resize', width: 600, format: 'gif', effort: 9 };
  const job = { op: 'resize', parameters: { width: 600, format: 'gif', effort: 9 } };
  const answer = await late.transform(query, image('animated/sample_big.gif'), 'image/gif');
  const refusal = {
    status: 503,
    code: 'provider_unavailable',
    retryable: true,
    details: {
      reason: 'deadline_exceeded',
      instead: [
        { parameters: { maxFps: Number, effort: 0 } },
        { parameters: { everyNth: Number, effort: 0 } },
        { parameters: { frame: 'first', effort: 0 } },
        { job },
      ],
    },
  };
  t.match(refusalOf(answer), refusal);
  t.match(answer.json.error.message, /the work itself took that time.*effort=0/);
  t.match(answer.headers.get('server-timing'), /^admit;dur=.*, fetch;dur=.*, queue;dur=.*, total;dur=\d/);
  t.equal(answer.headers.get('retry-after'), '60');
  const [{ parameters }] = answer.json.error.details.instead;
  const corrected = await calls.transform(
    { ...query, ...parameters },
    image('animated/sample_big.gif'),
    'image/gif',
  );
  t.equal(corrected.status, 200, JSON.stringify(parameters));
});

t.test('outputs whose work fills their deadline are told the jobs that make them', corpus, async (t) => {
  const { server, key } = await openLateCalls(t);
  const body = image('animated/sample_big.gif');
  const assetId = (await server.call('/assets/upload', { key, body, type: 'image/gif' })).json.data.id;
  const slow = (name: string, width: number) => ({
    name,
    op: 'resize',
    parameters: { width, format: 'gif', effort: 9 },
  });
  const quick = { name: 'still', op: 'extract_frame' };
  const send = (outputs: object[], steps?: object[]) =>
    server.call('/images/transform?response=url', { key, json: { assetId, outputs, steps } });
  const isTaken = async (job: object) => {
    const dry = await server.call('/jobs?dryRun=true', { key, json: job });
    t.equal(dry.status, 200, JSON.stringify(dry.json));
  };

  const { outputs } = (await send([quick, slow('wide', 600)])).json.data;
  t.match(outputs[0], { name: 'still', width: 1000 }, 'an output that is done is answered');
  const { error } = outputs[1];
  const job = { steps: [{ op: 'resize', parameters: { width: 600, effort: 9 } }], assetIds: [assetId] };
  t.match(error, { retryable: true, details: { reason: 'deadline_exceeded', instead: Array } });
  t.match(error.details.instead[0], { parameters: { effort: 0 } }, 'parameters of that output');
  t.match(error.details.instead.at(-1), { job });
  await isTaken(error.details.instead.at(-1).job);

  const sizes = await send([slow('wide', 600), slow('wider', 700)]);
  const variants = [600, 700].map((width) => ({ parameters: { width } }));
  t.match(sizes.json.error, {
    details: { instead: [{ job: { op: 'resize', variants, assetIds: [assetId] } }] },
  });
  await isTaken(sizes.json.error.details.instead[0].job);

  const flip = { op: 'flip', parameters: { axis: 'vertical' } };
  const flipped = await send([slow('wide', 600), slow('wider', 700)], [flip]);
  const [{ jobs }] = flipped.json.error.details.instead;
  t.match(jobs, [{ steps: [flip, { op: 'resize' }] }, { steps: [flip, { op: 'resize' }] }]);
  for (const each of jobs) await isTaken(each);
});

t.test('a long animation is answered by fewer frames, and its time stays', corpus, async (t) => {
  const large = image('animated/gifplayer-muybridge.gif');
  const before = await sharp(large, { pages: -1, limitInputPixels: false }).metadata();
  const totalMs = (delays: number[] = []) => delays.reduce((sum, delay) => sum + delay, 0);
  const answer = await calls.transform(
    { op: 'resize', width: 60, maxFps: 10, effort: 0 },
    large,
    'image/gif',
  );
  t.equal(answer.status, 200);
  const after = await sharp(answer.bytes, { pages: -1 }).metadata();
  t.ok((after.pages ?? 1) < (before.pages ?? 1) && (after.pages ?? 1) > 1, `${after.pages} frames`);
  t.equal(totalMs(after.delay), totalMs(before.delay));
  t.ok(Math.min(...(after.delay ?? []).slice(0, -1)) >= 100);
  const range = { frames: '100..109', maxFrames: 4 };
  const part = await calls.transform({ op: 'resize', width: 60, effort: 0, ...range }, large, 'image/gif');
  const { pages, delay } = await sharp(part.bytes, { pages: -1 }).metadata();
  t.strictSame([pages, delay], [4, before.delay?.slice(100, 104)]);
});

t.test('frames are chosen by one parameter or the other, and of those that there are', corpus, async (t) => {
  const large = image('animated/gifplayer-muybridge.gif');
  const table: [Record<string, string | number>, string, RegExp][] = [
    [{ frame: 'first', everyNth: 2 }, 'everyNth', /stands in place of it/],
    [{ frame: 3, frames: '1..2' }, 'frames', /stands in place of it/],
    [{ frames: '9..2' }, 'frames', /send 2\.\.9/],
    [{ frames: '1-9' }, 'frames', /10\.\.99/],
    [{ frames: '370..380' }, 'frames', /has 380 frames, 0 to 379/],
    [{ everyNth: 1 }, 'everyNth', /from 2 to 100/],
    [{ maxFps: 61 }, 'maxFps', /from 1 to 60/],
    [{ maxFrames: 1001 }, 'maxFrames', /from 1 to 1000/],
    [{ maxFps: 2, format: 'png' }, 'maxFps', /png, which holds one picture/],
  ];
  for (const [query, param, message] of table) {
    const answer = await calls.transform({ op: 'resize', width: 20, ...query }, large, 'image/gif');
    t.match(refusalOf(answer), { status: 400, code: 'invalid_param', param }, JSON.stringify(query));
    t.match(answer.json.error.message, message);
  }
  const extracted = await calls.transform({ op: 'extract_frame', everyNth: 2 }, large, 'image/gif');
  t.match(refusalOf(extracted), { status: 400, param: 'everyNth' }, 'it has a frame of its own');
});
