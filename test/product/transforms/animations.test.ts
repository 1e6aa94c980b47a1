// needs: server
import t from 'tap';
import { image, needsImages } from '../../support/images.ts';
import { openCalls, pictureOf, refusalOf } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);

t.test(
  'an animation of many pixels is written with less effort where nobody chose one',
  corpus,
  async (t) => {
    const long = image('animated/sample_big.gif');
    for (const [format, effort] of [
      ['webp', 2],
      ['gif', 0],
    ] as const) {
      const query = { op: 'resize', width: 300, format };
      const left = await calls.transform(query, long, 'image/gif');
      const chosen = await calls.transform({ ...query, effort }, long, 'image/gif');
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
  const all = await calls.transform({ op: 'resize', width: 100 }, large, 'image/gif');
  t.match(refusalOf(all), { status: 400, code: 'unsupported_format', details: { limit: 50_000_000 } });
  t.match(all.json.error.message, /frame=first/);
  const past = await calls.transform({ op: 'extract_frame', frame: 380 }, large, 'image/gif');
  t.match(refusalOf(past), { status: 400, param: 'frame', details: { limit: 379 } });
});

t.test('a call whose work fills its deadline is told what takes less', corpus, async (t) => {
  const hurried = await openCalls(t, { TRANSFORM_TIMEOUT_MS: '5000' });
  const query = { op: 'resize', width: 600, format: 'gif', effort: 9 };
  const answer = await hurried.transform(query, image('animated/sample_big.gif'), 'image/gif');
  const job = { op: 'resize', parameters: { width: 600, format: 'gif', effort: 9 } };
  const refusal = {
    status: 503,
    code: 'provider_unavailable',
    retryable: true,
    details: {
      reason: 'deadline_exceeded',
      instead: [{ parameters: { effort: 0 } }, { parameters: { frame: 'first' } }, { job }],
    },
  };
  t.match(refusalOf(answer), refusal);
  t.match(answer.json.error.message, /the work itself took that time.*effort=0/);
  t.equal(answer.headers.get('retry-after'), '60');
});
