// needs: nothing
import t from 'tap';
import { deadlineExceededError, poolFullError } from '../../../src/imaging/images/failures.ts';
import { FormatRuns } from '../../../src/imaging/images/formats.ts';
import type { PassOutcome } from '../../../src/imaging/images/image-call.ts';
import { ApiError } from '../../../src/platform/http/errors/errors.ts';
import type { ImagePass, PassWarning } from '../../../workers/protocol.ts';

const pass: ImagePass = {
  decode: {},
  steps: [],
  encode: { formats: ['avif', 'webp', 'jpeg'], target: { ssimulacra2: 90 } },
};
const runs = new FormatRuns([{ pass, paramOf: (name) => name }], null);

function file(bytes: number, warnings?: PassWarning[]): PassOutcome {
  const timings = { decodeMs: 0, processMs: 0, encodeMs: 0 };
  const size = { width: 1, height: 1, contentType: 'image/webp' };
  const data = new Uint8Array(bytes);
  return { kind: 'transformed', data, ...size, timings, ...(warnings && { warnings }) };
}

t.test('the quickest format runs first', async (t) => {
  t.same(
    runs.passRuns.map((run) => run.pass.encode.format),
    ['jpeg', 'webp', 'avif'],
  );
});

t.test(
  'of the formats that were ready in time the smallest is taken, with a warning of the others',
  async (t) => {
    const late = deadlineExceededError(1);
    t.match(runs.smallestOutputs([file(30), file(20), late]), [
      { data: { length: 20 }, warnings: [{ code: 'format_not_tried', name: 'avif' }] },
    ]);
    t.match(runs.smallestOutputs([file(30), late, late]), [
      { data: { length: 30 }, warnings: [{ name: 'webp' }, { name: 'avif' }] },
    ]);
    const [all] = runs.smallestOutputs([file(30), file(20), file(10)]);
    t.notOk(all && 'warnings' in all, 'nothing is said where all were tried');
    const cutShort = file(30, [{ code: 'search_cut_short' }]);
    t.match(
      runs.smallestOutputs([cutShort, file(20), late]),
      [{ data: { length: 20 }, warnings: [{ code: 'search_cut_short' }, { code: 'format_not_tried' }] }],
      'with more time, the larger file might be the smallest',
    );
    const missed = new ApiError('invalid_param', 'not reached', { param: 'ssimulacra2' });
    const [reached] = runs.smallestOutputs([missed, file(20), file(30)]);
    t.notOk(reached && 'warnings' in reached, 'a format that cannot keep the promise was tried');
    t.same(runs.smallestOutputs([late, late, late]), [late]);
    t.equal(runs.smallestOutputs([poolFullError(1), late, late])[0] instanceof ApiError, true);
  },
);
