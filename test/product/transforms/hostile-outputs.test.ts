// needs: server
import sharp from 'sharp';
import t from 'tap';
import { pngOf as pngHeaderOf } from '../../imaging/images/files.ts';
import { openCalls, pngOf, refusalOf } from './calls.ts';
import { filePart, type Part, partsOf, sendParts } from './multipart.ts';

const calls = await openCalls(t);
/** Where no call is at work for long. */
const hurried = await openCalls(t, { TRANSFORM_TIMEOUT_MS: '5000' });
const small = await pngOf(sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } }));
const field = (name: string, value: unknown): Part => ({ name, value: JSON.stringify(value) });
const layer = (index: number, value: Uint8Array): Part => ({
  ...filePart(value),
  name: index === 0 ? 'layer' : `layer${index + 1}`,
});
const list = <T>(count: number, of: (index: number) => T) => Array.from({ length: count }, (_, at) => of(at));

/** A file of 49 megapixels and a few kilobytes. */
const large = await pngOf(
  sharp({
    create: { width: 7_000, height: 7_000, channels: 3, background: '#306090' },
    limitInputPixels: false,
  }),
);

/** Another account's call, which must be served meanwhile. */
async function otherIsServed(during: Promise<unknown>): Promise<number> {
  const { key } = await hurried.server.account();
  let served = 0;
  let isOver = false;
  const over = during.finally(() => {
    isOver = true;
  });
  do {
    const answer = await hurried.transform({ op: 'resize', width: 10 }, small, 'image/png', key);
    // On a busy machine a call may take longer than the deadline.
    if (answer.status === 200) served += 1;
    else if (answer.status !== 503) throw new Error(`${answer.status}`);
  } while (!isOver);
  await over;
  return served;
}

t.test('twenty outputs of 49 megapixels are made or refused, and others are served', async (t) => {
  const outputs = list(20, (at) => ({
    name: `o${at}`,
    op: 'resize',
    parameters: { width: 3_000 + at, format: 'png', effort: 9 },
  }));
  const call = sendParts(hurried, '', [field('outputs', outputs), filePart(large)]);
  t.ok((await otherIsServed(call)) > 0);
  const answer = await call;
  if (answer.status === 200) t.equal(partsOf(answer).length, 20);
  else t.match(refusalOf(answer), { status: 503, code: 'provider_unavailable', retryable: true });
});

t.test('twenty layers of 49 megapixels are laid or refused, and others are served', async (t) => {
  const steps = list(20, () => ({ op: 'overlay', parameters: { opacity: 0.5 } }));
  const layers = list(20, (at) => layer(at, large));
  const call = sendParts(hurried, '', [field('steps', steps), filePart(large), ...layers]);
  t.ok((await otherIsServed(call)) > 0);
  const answer = await call;
  if (answer.status !== 200)
    t.match(refusalOf(answer), { status: 503, code: 'provider_unavailable', retryable: true });
  else t.equal(answer.headers.get('x-service-width'), '7000');
});

t.test('a layer above 50 megapixels, or above 25 megabytes, is refused by its part', async (t) => {
  const steps = [{ op: 'overlay' }];
  const huge = await sendParts(calls, '', [
    field('steps', steps),
    filePart(small),
    layer(0, pngHeaderOf(14_041, 3_561)),
  ]);
  const details = { limit: 50_000_000 };
  t.match(refusalOf(huge), { status: 400, code: 'unsupported_format', param: 'layer', details });
  const heavy = await sendParts(calls, '', [
    field('steps', steps),
    filePart(small),
    layer(0, new Uint8Array(25 * 1024 * 1024 + 1)),
  ]);
  t.match(refusalOf(heavy), { status: 413, code: 'payload_too_large', param: 'layer' });
});

t.test('too many parts are refused', async (t) => {
  const steps = field('steps', [{ op: 'flip' }]);
  const files = await sendParts(calls, '', [
    steps,
    filePart(small),
    ...list(10_000, (at) => layer(at, small)),
  ]);
  t.match(refusalOf(files), { status: 400, code: 'invalid_param', param: 'body' });
  const fields = await sendParts(calls, '', [
    steps,
    filePart(small),
    ...list(10_000, (at) => ({ name: `field${at}`, value: 'x' })),
  ]);
  t.match(refusalOf(fields), { status: 400, code: 'invalid_param', param: 'body' });
  const both = await sendParts(calls, '', [
    steps,
    filePart(small),
    ...list(31, (at) => ({ ...layer(at, small), name: `other${at}` })),
  ]);
  t.equal(both.status, 200, 'as many as are allowed');
});
