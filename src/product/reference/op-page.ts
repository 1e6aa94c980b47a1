import {
  type DocumentationPage,
  type DocumentedField,
  fieldsBlock,
  headingBlock,
  jsonSampleBlock,
  listBlock,
  type PageBlock,
  type PagePictures,
  pageLink,
  paragraphBlock,
  shellSampleBlock,
  type TrialInput,
} from '../../platform/pages/page.ts';
import { TRANSFORM_ENDPOINT } from '../catalogue/op.ts';
import {
  acceptedValuesText,
  defaultTextOf,
  isSharedParameter,
  runsOnlyWithinSyncSteps,
} from '../catalogue/pages/op-text.ts';
import type { OpDefinition, OpParameter } from '../catalogue/schema.ts';
import { JobRequest } from '../jobs/schema.ts';
import { callSamplesBlock, type SampleCall } from './call.ts';
import { commandLineSample } from './command-line.ts';

const PHOTO_BODY = { file: 'photo.jpg', type: 'image/jpeg' };
const JOBS_PATH = '/api/v1/jobs';
const SYNC_ERROR_CODES = [
  'invalid_param',
  'unsupported_format',
  'payload_too_large',
  'rate_limited',
  'provider_unavailable',
];
const MODEL_ERROR_CODES = [
  'invalid_param',
  'insufficient_credit',
  'provider_rejected',
  'provider_unavailable',
];

/**
 * Explains gravity=attention on the pages of ops with a gravity. The text is too long for the description of the
 * parameter.
 */
const GRAVITY_ATTENTION_NOTE =
  'gravity=attention keeps the part around the point that draws the eye most: edges, strong colours and the colours of skin, measured in a small copy. It knows no faces and no subjects: a narrow cut may take the eyes off a portrait, or one of two birds. A named place, or focalX and focalY, keep what you say; look at the result where nobody else will.';

/** Explains the result on the page of the op that reads text. */
const READ_TEXT_NOTE =
  'The text is what the reader took each shape for. It has no notation of its own: brackets and signs in it, such as [¢] in place of a small g, are characters that were misread, mostly small or blurred ones. The picture is read at two scales if there is time. The confidence of a line is that of its least certain word, and a word that the two readings took for different ones has at most 0.5: check amounts and units of lines below 0.6 against the picture.';

/**
 * The page of an op.
 * @param pictures example pictures of the op; empty if the gallery has none.
 */
export function opPage(definition: OpDefinition, pictures: readonly PagePictures[]): DocumentationPage {
  const { op, description, params, syncParams, example } = definition;
  const call = syncCallOf(definition);
  const command = commandLineSample(definition);
  const ownParameters = Object.entries(params).filter(([name]) => !isSharedParameter(definition, name));
  const sharedParameters = Object.entries(params).filter(([name]) => isSharedParameter(definition, name));
  return {
    title: op,
    lead: description,
    blocks: [
      factsList(definition),
      ...(runsOnlyWithinSyncSteps(op) ? stepBlocks(definition) : []),
      ...(call === undefined && !runsOnlyWithinSyncSteps(op)
        ? [paragraphBlock('It runs in jobs only.')]
        : []),
      callSamplesBlock(call ?? jobCall(example), ...(command === undefined ? [] : [command])),
      ...pictures,
      ...(syncParams === undefined
        ? []
        : [headingBlock('Body'), fieldsBlock(fieldsOf(Object.entries(syncParams)))]),
      headingBlock(syncParams === undefined ? 'Parameters' : 'Parameters of a job'),
      ...(ownParameters.length + sharedParameters.length === 0 ? [paragraphBlock('It has none.')] : []),
      ...(ownParameters.length === 0 ? [] : [fieldsBlock(fieldsOf(ownParameters))]),
      ...(params.gravity === undefined ? [] : [paragraphBlock(GRAVITY_ATTENTION_NOTE)]),
      ...(params.language === undefined ? [] : [paragraphBlock(READ_TEXT_NOTE)]),
      ...(sharedParameters.length === 0 ? [] : [sharedFields(sharedParameters)]),
      ...trialForms(definition),
      ...(example === undefined ? [] : jobBlocks(example)),
      headingBlock('Errors'),
      likelyErrorsParagraph(definition),
      headingBlock('More'),
      furtherLinksList(definition),
    ],
  };
}

function factsList(definition: OpDefinition): PageBlock {
  const { kind, produces, jobType, pricing, defaultModel, modelCategory } = definition;
  const model = defaultModel === undefined ? 'none is offered here: name one' : defaultModel;
  return listBlock(
    `Kind: ${kind}; makes ${produces}${jobType === undefined ? '' : `; job type ${jobType}`}`,
    `Price: ${pricing.summary}`,
    ...(modelCategory === undefined
      ? []
      : [`Model: ${model}; others of category ${modelCategory} are in GET /api/v1/ai-models`]),
  );
}

/** The synchronous call of the op; undefined for an op that runs in jobs only. */
function syncCallOf(definition: OpDefinition): SampleCall | undefined {
  const { endpoint, syncEndpoint, syncParams, syncExample = {}, produces } = definition;
  const path = endpoint ?? syncEndpoint;
  if (path === undefined) return undefined;
  const call = { method: 'POST', path: `/api/v1${path}`, needsKey: true };
  if (syncParams !== undefined) return { ...call, body: { json: syncExample }, saves: 'result.png' };
  return {
    ...call,
    query: syncExample,
    body: PHOTO_BODY,
    ...(produces === 'image' && { saves: `result.${syncExample.format ?? 'jpg'}` }),
  };
}

/**
 * A sample for an op with a second picture. It sends the op as a step, and the second picture as a part of the body.
 */
function stepBlocks({ op, example }: OpDefinition): PageBlock[] {
  const { layerAssetId: _, ...parameters } = (example?.parameters ?? {}) as Record<string, unknown>;
  return [
    paragraphBlock('While you wait it runs as one of the steps of a transform, or of its outputs:'),
    shellSampleBlock(
      `curl -H "Authorization: ApiKey $KEY" -F file=@photo.jpg -F layer=@photo.png \\
  -F 'steps=${JSON.stringify([{ op, parameters }])}' "$BASE/api/v1${TRANSFORM_ENDPOINT}" -o result.jpg`,
    ),
  ];
}

function jobCall(json: unknown): SampleCall {
  return { method: 'POST', path: JOBS_PATH, query: { wait: 30 }, needsKey: true, body: { json } };
}

function jobBlocks(example: Record<string, unknown>): PageBlock[] {
  return [
    headingBlock('As a job'),
    paragraphBlock(
      'A job works on assets, many at a time. This is the body of POST /api/v1/jobs; with `?dryRun=true` the same body answers its price and runs nothing. See ',
      pageLink('jobs', '/docs/guides/jobs'),
      '.',
    ),
    jsonSampleBlock('Body of a job', example),
  ];
}

function fieldsOf(parameters: readonly [name: string, parameter: OpParameter][]): DocumentedField[] {
  return parameters.map(([name, parameter]) => {
    const fallback = defaultTextOf(parameter);
    const { description } = parameter;
    return {
      name,
      takes: acceptedValuesText(parameter),
      ...(fallback !== undefined && { fallback }),
      description,
    };
  });
}

function sharedFields(sharedParameters: readonly [name: string, parameter: OpParameter][]): PageBlock {
  const summary = 'Parameters of every op that writes an image';
  return { kind: 'fields', summary, fields: fieldsOf(sharedParameters) };
}

/** The form that runs the op on a picture of the reader, as a list; empty for an op that no form can run. */
function trialForms(definition: OpDefinition): PageBlock[] {
  const { op, kind, params, requiresAssets, endpoint, syncEndpoint, syncParams, syncExample } = definition;
  const path = endpoint ?? syncEndpoint;
  if (kind === 'ai') {
    const { parameters = {}, ...fields } = definition.example as { parameters?: object };
    const inputs = Object.entries(params).filter(([name]) => name !== 'assetIds');
    const trial = inputs.map((one) => trialInput(one, { ...fields, ...parameters }));
    return [
      {
        kind: 'trial',
        path: `${JOBS_PATH}?wait=60`,
        sends: { op, needsFile: requiresAssets },
        inputs: trial,
      },
    ];
  }
  if (path === undefined) return [];
  const { op: queryOp, ...values } = syncExample ?? {};
  const ownFirst = Object.entries(syncParams ?? params).toSorted(
    ([one], [other]) =>
      Number(isSharedParameter(definition, one)) - Number(isSharedParameter(definition, other)),
  );
  return [
    {
      kind: 'trial',
      path: `/api/v1${path}${queryOp === undefined ? '' : `?op=${queryOp}`}`,
      sends: syncParams === undefined ? 'file' : 'json',
      inputs: ownFirst.map((one) => trialInput(one, values)),
    },
  ];
}

/**
 * The input for a parameter in a form.
 * @param values the initial values of the inputs, by name.
 */
function trialInput(
  [name, parameter]: [name: string, parameter: OpParameter],
  values: Readonly<Record<string, unknown>>,
): TrialInput {
  const value = values[name];
  const choices = parameter.type === 'string' ? parameter.enum?.map(String) : undefined;
  return {
    name,
    value: typeof value === 'object' ? JSON.stringify(value) : String(value ?? ''),
    ...(choices !== undefined && { choices }),
    isJson: !parameter.type.includes('string'),
    isField: name in JobRequest.properties,
  };
}

function likelyErrorsParagraph({ kind }: OpDefinition): PageBlock {
  const codes = kind === 'ai' ? MODEL_ERROR_CODES : SYNC_ERROR_CODES;
  const links = codes.flatMap((code) => [pageLink(code, `/docs/errors/${code}`), ', ']);
  return paragraphBlock(
    'Most likely are ',
    ...links,
    'and any other of ',
    pageLink('the closed set', '/docs/errors'),
    '.',
  );
}

function furtherLinksList({ op, kind, syncEndpoint, endpoint }: OpDefinition): PageBlock {
  const isTransform = syncEndpoint === '/images/transform';
  return listBlock(
    ['The definition as JSON, with the price: ', pageLink(`GET /api/v1/ops/${op}`, `/api/v1/ops/${op}`)],
    ...(isTransform
      ? [
          [
            'Every way to send a picture: ',
            pageLink('POST /api/v1/images/transform', '/docs/transformImage'),
          ],
          ['Several of them on one picture: ', pageLink('several results', '/docs/guides/several-results')],
        ]
      : []),
    ...(kind === 'ai' ? [['Prices and keys: ', pageLink('models', '/docs/guides/models')]] : []),
    ...(endpoint === undefined
      ? [['Many pictures: ', pageLink('POST /api/v1/jobs', '/docs/createJob')]]
      : []),
  );
}
