import { createHash } from 'node:crypto';
import { ATTENTION_HINT } from '../../../../workers/image/operations/parameter.ts';
import { GRAVITY_NAMES } from '../../../../workers/image/pixels/geometry.ts';
import { JSON_BOUNDS_TEXT } from '../../../platform/http/bodies/json.ts';
import { pageMarkdown } from '../../../platform/pages/markdown.ts';
import {
  type DocumentationPage,
  headingBlock,
  listBlock,
  numberedListBlock,
  type PageBlock,
  paragraphBlock,
  shellSampleBlock,
} from '../../../platform/pages/page.ts';
import { PASS_PARAMETERS } from '../parameters.ts';
import type { AgentGuidelines, OpDefinition } from '../schema.ts';
import { isSharedParameter, parameterSummaryLine, runsOnlyWithinSyncSteps, syncCallText } from './op-text.ts';

const GUIDELINES_LEAD =
  'Put the address of the service (BASE) before paths. Send `Authorization: ApiKey <key>` with every call.';

/** The instructions for agents. Every command in them runs unchanged once KEY and BASE are set. */
const AGENT_INSTRUCTIONS: readonly PageBlock[] = [
  headingBlock('One image now'),
  paragraphBlock('Nothing is stored. Parameters go into the query of POST /api/v1/images/transform:'),
  shellSampleBlock(`curl -H "Authorization: ApiKey $KEY" -H "Content-Type: image/jpeg" --data-binary @photo.jpg \\
  "$BASE/api/v1/images/transform?op=resize&width=300" -o small.jpg`),
  paragraphBlock(
    'Send the image as raw bytes with their Content-Type, as a multipart part file, or as JSON with url or assetId, op and parameters:',
  ),
  shellSampleBlock(`curl -H "Authorization: ApiKey $KEY" -H "Content-Type: application/json" \\
  -d "{\\"assetId\\": \\"$ASSET\\", \\"op\\": \\"blur\\", \\"parameters\\": {\\"sigma\\": 8}}" \\
  "$BASE/api/v1/images/transform" -o blurred.jpg`),
  paragraphBlock(
    "An image's facts: `data.image` has width, height, dominantColor, …; `data.metadata` exif, iptc, …. read-text (OCR) and read-codes (QR, bar codes) in place of metadata read what it says.",
  ),
  shellSampleBlock(`curl -H "Authorization: ApiKey $KEY" -F file=@photo.jpg "$BASE/api/v1/images/metadata"`),
  paragraphBlock(
    'Several ops: send steps instead of op, as a multipart field or in JSON. They are one run. Several results: outputs, a list of {name, op, parameters} or {name, steps}, instead of op. Save steps by POST /api/v1/presets with a slug: ?preset=slug runs them.',
  ),
  shellSampleBlock(`curl -H "Authorization: ApiKey $KEY" -F file=@photo.jpg "$BASE/api/v1/images/transform" -o avatar.png \\
  -F 'steps=[{"op": "resize", "parameters": {"width": 300, "height": 300, "fit": "cover", "focalY": 0.4}}, {"op": "round_corners", "parameters": {"radius": "50%", "format": "png"}}]'`),
  paragraphBlock(
    'A picture of words: a template and one row of data. GET /api/v1/templates lists all with their variables. Instead of templateId send html, css, width and height. A page loads `data:` URIs and `asset://<assetId>` alone: upload other pictures first.',
  ),
  shellSampleBlock(`curl -H "Authorization: ApiKey $KEY" -H "Content-Type: application/json" \\
  -d "{\\"templateId\\": \\"social-card\\", \\"data\\": {\\"title\\": \\"Hello\\", \\"image\\": \\"asset://$ASSET\\"}}" "$BASE/api/v1/images/render" -o card.png`),
  paragraphBlock(
    'An image to keep: `data.id` is its assetId (several file parts: `data.assets`); the link needs no key. GET /api/v1/assets?similarTo=assetId finds copies.',
  ),
  shellSampleBlock(`curl -H "Authorization: ApiKey $KEY" -F file=@photo.jpg "$BASE/api/v1/assets/upload?name=photo.jpg"
curl -H "Authorization: ApiKey $KEY" "$BASE/api/v1/assets/$ASSET/link?expiresInSeconds=3600"`),
  paragraphBlock(
    'A picture in a web page: POST /api/v1/delivery-links with assetId or url, and op, steps or preset, answers a signed `<img>`.',
  ),
  headingBlock('Many images, or a model'),
  paragraphBlock(
    'A job runs an op, a preset (presetId) or steps over up to 10,000 assetIds, or over from: {collection, createdFrom, createdTo, limit}; generate is a job of its own. First dryRun=true answers every refusal and the price.',
  ),
  shellSampleBlock(`JOB="{\\"op\\": \\"resize\\", \\"assetIds\\": [\\"$ASSET\\"], \\"parameters\\": {\\"width\\": 64}}"
curl -H "Authorization: ApiKey $KEY" -H "Content-Type: application/json" -d "$JOB" "$BASE/api/v1/jobs?dryRun=true"
curl -H "Authorization: ApiKey $KEY" -H "Content-Type: application/json" -H "Idempotency-Key: resize-1" \\
  -d "$JOB" "$BASE/api/v1/jobs?wait=30"`),
  listBlock(
    'wait (at most 60 s) holds the answer of a job of one item; read any other by GET /api/v1/jobs/{jobId}?wait=60, until its status is COMPLETED, FAILED or CANCELLED. POST /api/v1/jobs/{jobId}/resume retries what did not complete. `outcome` of an ended job: `all`, `some` or `none` completed.',
    'Each item of `data.items` has resultAssetId (an image) or output (JSON), or errorCode and retryable. Past 100 items read GET /api/v1/jobs/{jobId}/items; ?items=0 and ?fields=id,status,outcome make answers small. GET /api/v1/jobs/{jobId}/results.zip is all pictures of an ended job; …/results/link links to it.',
    'maxCredits in a submit or a resume is the most it may cost (else 402 with details.price). notRetryableItems will most likely fail again.',
    'Or register POST /api/v1/webhook-endpoints with an https url; keep its secret, shown once. Verify a delivery as its page shows, answer 2xx within 10 s, drop repeats by Service-Event-Id.',
    'AI ops cost credits per item and run on defaultModel unless model names another. Results marked sandbox: true are invented.',
  ),
  headingBlock('Rules'),
  numberedListBlock(
    'A deterministic op refuses undeclared parameters.',
    'On success look at X-Service-Warnings: `not_enlarged:768` (send enlarge=true), `alpha_lost`, `ignored_parameter:perpage,did_you_mean:perPage`, …: /docs/warnings.md has the cures.',
    'On failure branch on error.code. Send details.instead if there is one. Else repeat only what is retryable, after Retry-After; fix error.param by details.fix, suggest or allowed.',
    'Send an Idempotency-Key with every write, and the same again after a time-out. Synchronous image calls and uploads need none.',
    'Images have at most 50 megapixels, all frames together. At most 4 synchronous calls at a time, each of 10 s (a render 20 s; Server-Timing: admit, fetch, queue, decode, process, encode, total), and 600 requests per minute and account.',
    'In a URL # is %23, and lists and objects are JSON text. Formats, places and colours are read by usual names: jpg, ff8800.',
    'What this server can do: GET /api/v1/ops?view=names, /ai-models, /fonts; limits: /account; used: /usage.',
    'Tell what is missing: POST /api/v1/feedback, kind capability_gap, message.',
    JSON_BOUNDS_TEXT,
  ),
];

/**
 * The operating rules and a summary of the catalogue, generated from the same definitions as /ops.
 * @param updatedAt when this release was installed.
 */
export function guidelinesOf(definitions: readonly OpDefinition[], updatedAt: Date): AgentGuidelines {
  const document = pageMarkdown(guidelinesPage(definitions));
  const version = createHash('sha256').update(document).digest('hex').slice(0, 12);
  return { version, updatedAt: updatedAt.toISOString(), document };
}

export function guidelinesPage(definitions: readonly OpDefinition[]): DocumentationPage {
  return {
    title: 'Darkroom: guidelines for agents',
    lead: GUIDELINES_LEAD,
    blocks: [
      ...AGENT_INSTRUCTIONS,
      ...sharedParametersSection(definitions),
      headingBlock('Ops'),
      ...definitions.flatMap(opSection),
    ],
  };
}

/** The names of the nine positions. They are listed only once, because many parameters take them. */
const POSITION_LIST = GRAVITY_NAMES.join(', ');

/** The parameters that most ops share, described once. */
function sharedParametersSection(definitions: readonly OpDefinition[]): PageBlock[] {
  const { params = {}, pricing } = definitions.find(({ op }) => op === 'resize') ?? {};
  const lines = Object.keys(PASS_PARAMETERS).flatMap((name) => {
    const parameter = params[name];
    return parameter === undefined ? [] : [`${name}: ${parameterSummaryLine(parameter)}`];
  });
  return [
    headingBlock('Parameters of every op that writes an image'),
    listBlock(...lines),
    paragraphBlock(`A place is one of ${POSITION_LIST}. Gravity ${ATTENTION_HINT}`),
    paragraphBlock(`Deterministic ops: ${pricing?.summary ?? ''}`),
  ];
}

function opSection(definition: OpDefinition): PageBlock[] {
  const { op, kind, description, params, pricing } = definition;
  const own = Object.entries(params).filter(([name]) => !isSharedParameter(definition, name));
  const call = syncCallText(definition);
  const lines = [
    `${description}${runsOnlyInJobs(definition) ? ' Jobs only.' : ''}`,
    ...(kind === 'ai' ? [pricing.summary] : []),
    ...(call === undefined ? [] : [`\`${call}\``]),
  ];
  const parameters = own.map(
    ([name, parameter]) =>
      `${name}: ${parameterSummaryLine(parameter).replace(POSITION_LIST, 'a place').replace(` ${ATTENTION_HINT}`, '')}`,
  );
  return [
    headingBlock(op, 3),
    paragraphBlock(lines.join('\n')),
    ...(parameters.length === 0 ? [] : [listBlock(...parameters)]),
  ];
}

function runsOnlyInJobs({ op, endpoint, syncEndpoint }: OpDefinition): boolean {
  return endpoint === undefined && syncEndpoint === undefined && !runsOnlyWithinSyncSteps(op);
}
