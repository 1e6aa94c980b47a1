import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  pageLink,
  paragraphBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';

export const presetsGuide: DocumentationPage = {
  title: 'Presets',
  lead: 'Steps that are saved once, checked when they are saved, and run by name.',
  blocks: [
    headingBlock('A built-in preset'),
    paragraphBlock(
      '`builtin-web-optimized` makes a picture ready for a page. GET /api/v1/presets lists all.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: image/jpeg" \\
  --data-binary @photo.jpg \\
  "$BASE/api/v1/images/transform?preset=builtin-web-optimized" \\
  -o web.webp`),
    headingBlock('One of your own'),
    paragraphBlock(
      'A preset has a name, a slug and steps. They are checked when it is saved, so that a run never finds a wrong parameter.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Avatar", "slug": "avatar", "steps": [
        {"op": "thumbnail", "parameters": {"size": 256}},
        {"op": "round_corners", "parameters": {"radius": "50%", "format": "webp"}}]}' \\
  "$BASE/api/v1/presets"
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: image/jpeg" \\
  --data-binary @photo.jpg \\
  "$BASE/api/v1/images/transform?preset=avatar" \\
  -o avatar.webp`),
    headingBlock('Versions'),
    paragraphBlock(
      'PUT changes a preset, and keeps the version before it. `avatar` is the current version; `avatar@1` stays what it was.',
    ),
    shellSampleBlock(`curl --fail-with-body \\
  -X PUT \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"steps": [{"op": "thumbnail", "parameters": {"size": 128, "format": "webp"}}]}' \\
  "$BASE/api/v1/presets/avatar"
curl --fail-with-body \\
  -H "Authorization: ApiKey $KEY" \\
  -H "Content-Type: image/jpeg" \\
  --data-binary @photo.jpg \\
  "$BASE/api/v1/images/transform?preset=avatar@1" \\
  -o first-avatar.webp`),
    headingBlock('Where they run'),
    listBlock(
      'While you wait: `preset` in the query of a transform, or in an output.',
      ['Over many pictures: `presetId` in the body of a ', pageLink('job', '/docs/guides/jobs'), '.'],
      'A preset with an AI op runs in jobs only.',
    ),
  ],
};
