import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';
import { callSamplesBlock } from '../call.ts';

const PHOTO_BODY = { file: 'photo.jpg', type: 'image/jpeg' };
const TRANSFORM_CALL = { method: 'POST', path: '/api/v1/images/transform', needsKey: true, body: PHOTO_BODY };

export const firstPictureGuide: DocumentationPage = {
  title: 'First picture',
  lead: 'Send a picture, and get it back smaller: one call, nothing stored.',
  blocks: [
    headingBlock('The address and the key'),
    paragraphBlock(
      'Every call goes to the address of the service, and carries a key. The first start prints one; `npm run admin -- key create` makes more. Keep both in the environment, and no command needs an edit.',
    ),
    shellSampleBlock('export BASE=http://127.0.0.1:3000\nexport KEY=drk_…'),
    headingBlock('A smaller picture'),
    paragraphBlock(
      'The picture is the body, with its own Content-Type. What is to be done is in the query: an op, and its parameters. The answer is the new picture.',
    ),
    callSamplesBlock({
      ...TRANSFORM_CALL,
      query: { op: 'resize', width: 800, format: 'webp' },
      saves: 'photo.webp',
    }),
    paragraphBlock(
      'The command line does the same with fewer words, and takes whole folders. It is in the repository of the service (`src/client`), with a client in TypeScript; it reads the address and the key from DARKROOM_URL and DARKROOM_KEY.',
    ),
    shellSampleBlock(
      'export DARKROOM_URL=$BASE DARKROOM_KEY=$KEY\ndarkroom transform photo.jpg --op resize --width 800 \\\n  -o smaller.webp',
    ),
    headingBlock('What the answer says'),
    paragraphBlock(
      'The headers have the size and the format of the result, and where the time went. `X-Service-Warnings` names what succeeded and should be looked at: a picture that was not enlarged, a parameter that nothing reads.',
    ),
    shellSampleBlock(`curl -sS -D - \\
  -o small.jpg \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: image/jpeg" \\
  --data-binary @photo.jpg \\
  "$BASE/api/v1/images/transform?op=resize&width=300"`),
    paragraphBlock(
      '`Server-Timing` has the parts in milliseconds, of a failure those that are known. `GET /api/v1/requests/{requestId}` has them as `timing`.',
    ),
    listBlock(
      '`admit`: the key and the limits were checked.',
      '`fetch`: the body was received, or the url was fetched.',
      '`queue`: the call waited for a worker, which may have had to start.',
      '`decode`, `process`, `encode`: the worker read the picture, changed it and wrote the result.',
      '`total`: all of it, from the request to its answer.',
    ),
    paragraphBlock(
      'A synchronous call may take 10 s (TRANSFORM_TIMEOUT_MS), and a render 20 s (RENDER_TIMEOUT_MS), its waits included: an operator sets both. Longer work is a job, whose waits do not count.',
    ),
    headingBlock('When it fails'),
    paragraphBlock(
      'A failure is JSON with a code of a closed set, the field to fix and a sentence that says how. With `--fail-with-body` curl ends with an error, and still prints it. Repeat a call only if `retryable` is true. ',
      pageLink('Each code has a page', '/docs/errors'),
      '.',
    ),
    headingBlock('The facts of a picture'),
    paragraphBlock(
      'What a picture is costs nothing to ask: its size, its colours, its metadata. `read-text` and `read-codes` in place of `metadata` read what is in it.',
    ),
    callSamplesBlock({ ...TRANSFORM_CALL, path: '/api/v1/images/metadata' }),
    headingBlock('Next'),
    listBlock(
      [pageLink('Every op', '/docs/ops'), ', with its parameters and a form to try it'],
      [pageLink('Several results of one picture', '/docs/guides/several-results')],
      [pageLink('Many pictures', '/docs/guides/jobs')],
    ),
  ],
};
