import {
  type DocumentationPage,
  heading,
  link,
  list,
  paragraph,
  shell,
} from '../../../platform/pages/page.ts';
import { callSamples } from '../call-samples.ts';

const PHOTO = { file: 'photo.jpg', type: 'image/jpeg' };
const TRANSFORM = { method: 'POST', path: '/api/v1/images/transform', needsKey: true, body: PHOTO };

export const firstPictureGuide: DocumentationPage = {
  title: 'First picture',
  lead: 'Send a picture, and get it back smaller: one call, nothing stored.',
  blocks: [
    heading('The address and the key'),
    paragraph(
      'Every call goes to the address of the service, and carries a key. The first start prints one; `npm run admin -- key create` makes more. Keep both in the environment, and no command needs an edit.',
    ),
    shell('export BASE=http://127.0.0.1:3000\nexport KEY=drk_…'),
    heading('A smaller picture'),
    paragraph(
      'The picture is the body, with its own Content-Type. What is to be done is in the query: an op, and its parameters. The answer is the new picture.',
    ),
    callSamples({
      ...TRANSFORM,
      query: { op: 'resize', width: 800, format: 'webp' },
      saves: 'photo.webp',
    }),
    paragraph(
      'The command line does the same with fewer words, and takes whole folders. It is in the repository of the service (`src/client`), with a client in TypeScript; it reads the address and the key from DARKROOM_URL and DARKROOM_KEY.',
    ),
    shell(
      'export DARKROOM_URL=$BASE DARKROOM_KEY=$KEY\ndarkroom transform photo.jpg --op resize --width 800 \\\n  -o smaller.webp',
    ),
    heading('What the answer says'),
    paragraph(
      'The headers have the size and the format of the result, and where the time went. `X-Service-Warnings` names what succeeded and should be looked at: a picture that was not enlarged, a parameter that nothing reads.',
    ),
    shell(`curl -sS -D - \\
  -o small.jpg \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: image/jpeg" \\
  --data-binary @photo.jpg \\
  "$BASE/api/v1/images/transform?op=resize&width=300"`),
    heading('When it fails'),
    paragraph(
      'A failure is JSON with a code of a closed set, the field to fix and a sentence that says how. With `--fail-with-body` curl ends with an error, and still prints it. Repeat a call only if `retryable` is true. ',
      link('Each code has a page', '/docs/errors'),
      '.',
    ),
    heading('The facts of a picture'),
    paragraph(
      'What a picture is costs nothing to ask: its size, its colours, its metadata. `read-text` and `read-codes` in place of `metadata` read what is in it.',
    ),
    callSamples({ ...TRANSFORM, path: '/api/v1/images/metadata' }),
    heading('Next'),
    list(
      [link('Every op', '/docs/ops'), ', with its parameters and a form to try it'],
      [link('Several results of one picture', '/docs/guides/several-results')],
      [link('Many pictures', '/docs/guides/jobs')],
    ),
  ],
};
