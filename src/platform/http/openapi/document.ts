import { Type } from '@sinclair/typebox';
import { JSON_BOUNDS_TEXT } from '../bodies/json.ts';
import { ERROR_CODES } from '../errors/errors.ts';
import { WARNINGS_PAGE } from '../hooks/warnings.ts';

/** A part of the OpenAPI document, as plain JSON. */
export type DocumentNode = { [key: string]: unknown };

/** The schema of bytes in OpenAPI 3.1. */
export const BYTES_SCHEMA = { contentMediaType: 'application/octet-stream' };

/**
 * The key under which facts about a route (`RouteTraits`) pass through the generator of the document. It is removed
 * from the document afterwards.
 */
export const ROUTE_TRAITS_KEY = 'x-route';
export interface RouteTraits {
  idempotency: boolean;
  isImageCall: boolean;
  isPublic: boolean;
}

const headerObject = (description: string, type = 'string') => ({ description, schema: { type } });

/** A list of all warnings, each with an example and its meaning. */
function warningListText(): string {
  const rows = WARNINGS_PAGE.blocks.flatMap((block) => (block.kind === 'table' ? block.rows : []));
  return rows.map(([example, meaning]) => `${example}: ${meaning}`).join(' ');
}

/** The headers of responses, each with its description. */
export const RESPONSE_HEADERS: DocumentNode = {
  'X-Request-Id': headerObject("The caller's own, when it sent one, else a UUID."),
  'RateLimit-Limit': headerObject('Requests per minute on this host.', 'integer'),
  'RateLimit-Remaining': headerObject('Requests left in this window.', 'integer'),
  'RateLimit-Reset': headerObject('Seconds until the window turns.', 'integer'),
  'RateLimit-Policy': headerObject(
    'The same limit, as in the IETF draft: q requests in w seconds.',
    'string',
  ),
  RateLimit: headerObject('The same window, as in the IETF draft: r requests left, for t seconds.', 'string'),
  Location: headerObject('The path of what was created, or of the list that shows it.'),
  'Retry-After': headerObject('Seconds to wait before the same call is made again.', 'integer'),
  'Idempotency-Replayed': headerObject('`true` on the stored answer of an earlier call under this key.'),
  'X-Service-Width': headerObject('Width of the result in pixels.', 'integer'),
  'X-Service-Height': headerObject('Height of the result in pixels, of one frame.', 'integer'),
  'X-Service-Format': headerObject('Format of the result, such as `webp`.'),
  'X-Service-Outputs': headerObject('The number of `outputs` that succeeded, of how many: such as `5/6`.'),
  'X-Service-Duration-Ms': headerObject('Milliseconds that the worker took.', 'integer'),
  'X-Service-Quality': headerObject('compress: the quality of the file that was chosen.', 'integer'),
  'X-Service-Lossless': headerObject('compress: `true` where the file was written without loss.'),
  'X-Service-Ssim': headerObject('compress with minSsim: the likeness that was reached.', 'number'),
  'X-Service-Ssimulacra2': headerObject('compress with ssimulacra2: the score that was reached.', 'number'),
  'X-Service-Trials': headerObject('compress: files that were tried.', 'integer'),
  'X-Service-Bit-Depth': headerObject(
    'Bits per channel of the result, if the input has more than 8.',
    'integer',
  ),
  'X-Service-Thumbhash': headerObject('placeholder: the ThumbHash of the real picture, in base64.'),
  'X-Service-Blurhash': headerObject('placeholder: the BlurHash of the real picture.'),
  'X-Service-Warnings': headerObject(
    `What succeeded and should be looked at: a comma-separated list of \`code\`, \`code:name\` or \`code:name=value\`, with percent-encoded names. ${warningListText()} /docs/warnings says what to do about each.`,
  ),
  'Server-Timing': headerObject(
    'Where the time went, in milliseconds: `process` includes an encoding that runs as the pixels come, `total` is the time from the request to its answer. What the others leave of it is reading the body, starting a worker or a browser after a pause, and waiting for a core.',
  ),
};

const COMMON_RESPONSE_HEADERS = ['X-Request-Id'];
const RATE_WINDOW_HEADERS = Object.keys(RESPONSE_HEADERS).filter((name) => name.startsWith('RateLimit'));
const IMAGE_HEADERS = Object.keys(RESPONSE_HEADERS).filter((name) =>
  /^(X-Service-|Server-Timing$)/.test(name),
);

const failureResponse = (description: string) => ({
  description,
  headers: headerRefs([...COMMON_RESPONSE_HEADERS, 'Retry-After']),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
});

/** The refusals that operations share. */
const SHARED_RESPONSES = {
  Failure: failureResponse(
    'A refusal or a failure: `error.code` says which, `error.param` the field to fix.',
  ),
  InvalidBody: failureResponse(
    '`error.param` names the field to fix, or `body` for JSON that is empty, malformed, not UTF-8 or nested too deeply.',
  ),
  BodyTooLarge: failureResponse(
    `\`payload_too_large\`: \`error.details.limit\` is the bound. ${JSON_BOUNDS_TEXT}`,
  ),
};

const responseRef = (name: keyof typeof SHARED_RESPONSES) => ({ $ref: `#/components/responses/${name}` });

const IDEMPOTENCY_KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Of equal requests under one key one runs; the others get its answer. Kept for 24 hours. Send a new one with each new write, and the same one when it is repeated.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]([ -~]*[!-~])?$' },
};

/**
 * Completes the generated document: shared parts become components, and every operation gets its headers and errors.
 * @param document is modified.
 * @param webhooks the calls that the service makes.
 */
export function completeOpenApiDocument(document: DocumentNode, webhooks: DocumentNode): DocumentNode {
  for (const { method, operation } of operationsOf(document)) {
    completeOperation(operation);
    addPathExamples(method, operation);
  }
  const components = (document.components ?? {}) as DocumentNode;
  const schemas: DocumentNode = {};
  document.paths = hoistSchemas(apiPathsFirst(document.paths as DocumentNode), schemas);
  document.webhooks = hoistSchemas(webhooks, schemas);
  const { Failure, ...others } = { ...schemas, ...failureSchemas() };
  document.components = {
    ...components,
    schemas: sortedByName({ ...others, Failure }),
    parameters: { IdempotencyKey: IDEMPOTENCY_KEY_PARAMETER },
    headers: RESPONSE_HEADERS,
    responses: SHARED_RESPONSES,
  };
  return document;
}

/** Puts /api/ paths before the paths of links and probes. Each group keeps the order of its declarations. */
function apiPathsFirst(paths: DocumentNode): DocumentNode {
  const isCall = ([path]: [string, unknown]) => path.startsWith('/api/');
  const entries = Object.entries(paths);
  return Object.fromEntries([...entries.filter(isCall), ...entries.filter((entry) => !isCall(entry))]);
}

function completeOperation(operation: DocumentNode): void {
  const traits = operation[ROUTE_TRAITS_KEY] as RouteTraits | undefined;
  delete operation[ROUTE_TRAITS_KEY];
  if (traits?.idempotency) {
    const parameters = (operation.parameters ?? []) as unknown[];
    operation.parameters = [...parameters, { $ref: '#/components/parameters/IdempotencyKey' }];
  }
  const names = [
    ...COMMON_RESPONSE_HEADERS,
    ...(traits?.isPublic ? [] : RATE_WINDOW_HEADERS),
    ...(traits?.isImageCall ? IMAGE_HEADERS : []),
    ...(traits?.idempotency ? ['Idempotency-Replayed'] : []),
  ];
  const responses = (operation.responses ?? {}) as Record<string, DocumentNode>;
  for (const [status, response] of Object.entries(responses)) {
    if (/^2/.test(status)) response.headers = headerRefs(status === '201' ? [...names, 'Location'] : names);
  }
  operation.responses = {
    ...responses,
    ...(acceptsJson(operation) && { 400: responseRef('InvalidBody'), 413: responseRef('BodyTooLarge') }),
    '4XX': responseRef('Failure'),
    default: responseRef('Failure'),
  };
}

function acceptsJson({ requestBody }: DocumentNode): boolean {
  const { content = {} } = (requestBody ?? {}) as { content?: DocumentNode };
  return 'application/json' in content;
}

/** Adds an example to each path parameter, so that the call can be sent from the documentation page without input. */
function addPathExamples(method: string, operation: DocumentNode): void {
  for (const parameter of (operation.parameters ?? []) as DocumentNode[]) {
    const example = parameter.in === 'path' ? pathExampleOf(method, String(parameter.name)) : undefined;
    if (example !== undefined) parameter.example = example;
  }
}

/** The operations of a document, in the order of its paths. */
export function operationsOf({
  paths = {},
}: DocumentNode): Array<{ path: string; method: string; operation: DocumentNode }> {
  return Object.entries(paths as Record<string, Record<string, DocumentNode>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
}

/**
 * Replaces schemas that have a title by references to components of that name. Merges the field `documented` of each
 * schema, which has the constraints that the code checks, into the schema.
 */
function hoistSchemas(value: unknown, schemas: DocumentNode): unknown {
  if (Array.isArray(value)) return value.map((entry) => hoistSchemas(entry, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { documented, ...own } = value as DocumentNode;
  const {
    title,
    elsewhere: _1,
    instead: _2,
    within: _3,
    clamped: _4,
    ...rest
  }: DocumentNode = { ...own, ...(documented as DocumentNode | undefined) };
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, entry]) => [key, hoistSchemas(entry, schemas)]),
  );
  if (typeof title !== 'string' || !('type' in rest || 'anyOf' in rest || 'oneOf' in rest)) {
    return title === undefined ? inner : { title: hoistSchemas(title, schemas), ...inner };
  }
  const known = schemas[title] as DocumentNode | undefined;
  // A schema whose title is already used by a different one stays inline.
  if (known !== undefined && schemaIdentityOf(known) !== schemaIdentityOf(inner)) return inner;
  schemas[title] = { ...known, ...inner };
  return { $ref: `#/components/schemas/${title}` };
}

/** The JSON of a schema without its examples, which the generator moves from a body to its media type. */
function schemaIdentityOf({ examples: _, ...contract }: DocumentNode): string {
  return JSON.stringify(contract);
}

/** The envelope of a refusal, which all operations share. */
function failureSchemas(): DocumentNode {
  const text = (description: string) => Type.String({ description });
  return {
    ErrorCode: Type.String({
      enum: Object.keys(ERROR_CODES),
      description: 'The closed set: branch on it, never on the message.',
    }),
    Error: Type.Object({
      code: Type.Ref('#/components/schemas/ErrorCode'),
      message: text('One sentence for a person, which says how to fix the call.'),
      retryable: Type.Boolean({ description: 'Whether the same call can be repeated.' }),
      param: Type.Optional(text('The parameter at fault; `body` when it is the body itself.')),
      details: Type.Optional(
        Type.Unsafe({
          type: 'object',
          additionalProperties: true,
          description:
            'For a program: allowed, min, max, limit, received, missing, reason and the like. `fix` lists the corrections (`param` with `rename`, `replace`, `add`, `remove`, `decode` or `encode`) that, made in order, let the call pass; `mistakes`, in its place if some mistakes have no certain correction, lists all of them, each with its `param` and its own `fix` or `message`; `suggest` has words, numbers or calls of which one was probably meant; `instead` has calls, or parts of them, that do what was probably meant.',
        }),
      ),
      requestId: Type.String(),
      docUrl: text('Path of the page about the code.'),
    }),
    Failure: Type.Object({
      success: Type.Boolean({ const: false }),
      error: Type.Ref('#/components/schemas/Error'),
      timestamp: Type.String({ format: 'date-time' }),
    }),
  };
}

function headerRefs(names: readonly string[]): DocumentNode {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function sortedByName(schemas: DocumentNode): DocumentNode {
  return Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/**
 * Examples of path parameters for calls that read: built-in objects, so that trying a call on the documentation page
 * returns something.
 */
const BUILT_IN_EXAMPLES: Readonly<Record<string, string>> = {
  op: 'resize',
  slug: 'builtin-web-optimized',
  templateId: 'builtin-template-social-card',
};
/**
 * Examples for all other calls and parameters: unused ids, so that trying a call neither changes nor deletes anything.
 */
const UNUSED_ID_EXAMPLES: Readonly<Record<string, string>> = {
  assetId: `ast_${'0'.repeat(24)}`,
  jobId: `job_${'0'.repeat(24)}`,
  keyId: `key_${'0'.repeat(24)}`,
  endpointId: `whe_${'0'.repeat(24)}`,
  deliveryId: `whd_${'0'.repeat(24)}`,
  templateId: `tpl_${'0'.repeat(24)}`,
  sessionId: `ses_${'0'.repeat(24)}`,
  requestId: '00000000-0000-4000-8000-000000000000',
  slug: `pre_${'0'.repeat(24)}`,
  version: '1',
  name: 'example',
  signature: '0'.repeat(32),
  what: 'builtin-web-optimized@1',
  source: `ast_${'0'.repeat(24)}.webp`,
  width: '640.webp',
};

/** The example of a parameter in a path; undefined for a parameter without an example. */
function pathExampleOf(method: string, name: string): string | undefined {
  return (method === 'get' ? BUILT_IN_EXAMPLES[name] : undefined) ?? UNUSED_ID_EXAMPLES[name];
}
