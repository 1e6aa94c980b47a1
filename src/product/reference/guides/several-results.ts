import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';

export const severalResultsGuide: DocumentationPage = {
  title: 'Several results of one picture',
  lead: 'Several ops in a row, or several sizes at once, from one upload.',
  blocks: [
    headingBlock('Several ops, one result'),
    paragraphBlock(
      'Send `steps` instead of `op`. They run in their order, as one pass and one run: nothing is encoded between them.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -F file=@photo.jpg \\
  -F 'steps=[{"op": "thumbnail", "parameters": {"size": 300}},
             {"op": "round_corners", "parameters": {"radius": "50%", "format": "png"}}]' \\
  "$BASE/api/v1/images/transform" -o avatar.png`),
    headingBlock('One picture, several results'),
    paragraphBlock(
      'Send `outputs`: 2 to 20, each with a name, and an op, steps or a preset. Each is one run. The answer is `multipart/mixed`, or a ZIP archive if the Accept header prefers it.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Accept: application/zip" \\
  -F file=@photo.jpg \\
  -F 'outputs=[{"name": "small", "op": "resize", "parameters": {"width": 320, "format": "webp"}},
               {"name": "large", "op": "resize", "parameters": {"width": 1280, "format": "webp"}},
               {"name": "square", "op": "thumbnail", "parameters": {"size": 96}}]' \\
  "$BASE/api/v1/images/transform" -o pictures.zip`),
    paragraphBlock('The command line writes them into a folder, of one picture or of many:'),
    shellSampleBlock(`darkroom transform photo.jpg --outputs small=resize:width=320,format=webp \\
  --outputs square=thumbnail:size=96 -o pictures`),
    headingBlock('Links instead of bytes'),
    paragraphBlock(
      'With `response=url` each result is stored for five minutes, and the answer is JSON with a link to each. The links need no key.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -F file=@photo.jpg \\
  -F 'outputs=[{"name": "small", "op": "resize", "parameters": {"width": 320}},
               {"name": "grey", "op": "grayscale"}]' \\
  "$BASE/api/v1/images/transform?response=url"`),
    headingBlock('When one of them fails'),
    listBlock(
      'The others are answered. The part of the failed one is JSON, with the same error that a call of its own would answer.',
      '`X-Service-Outputs` counts them: `2/3` says that one failed.',
      [
        'The fields are on the page of ',
        pageLink('POST /api/v1/images/transform', '/docs/transformImage'),
        '.',
      ],
    ),
  ],
};
