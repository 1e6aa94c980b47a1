import swagger from '@fastify/swagger';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { READABLE_MEDIA_TYPES } from '../bodies/image-body.ts';
import { sendStaticContent } from '../hooks/caching.ts';
import {
  BYTES_SCHEMA,
  completeOpenApiDocument,
  type DocumentNode,
  ROUTE_TRAITS_KEY,
  type RouteTraits,
} from './document.ts';
import { documentWithOperations, multipartDocument } from './forms.ts';
import { operationIdOf } from './names.ts';

interface OpenApiOptions {
  version: string;
  /** Returns the base URL of the service, which is known only once the server listens. */
  publicUrl: () => string;
  /** The schemas of the bodies that webhook endpoints receive, keyed by the type of the event. */
  webhookPayloads: Readonly<Record<string, object>>;
}

const OpenApiQuery = Type.Object({
  form: Type.Optional(
    Type.String({ enum: ['multipart'], description: 'Files as multipart, pictures as bytes.' }),
  ),
  ops: Type.Optional(Type.String({ description: 'operationIds, comma-separated: these alone.' })),
});
type OpenApiQuery = Static<typeof OpenApiQuery>;

const API_DESCRIPTION = `Image processing over HTTP: transforms while you wait, jobs over thousands of assets, templates as pictures, presets, models and webhooks.

Send \`Authorization: ApiKey <key>\`. Every JSON answer is an envelope with \`success\`; a failure has \`error.code\` of a closed set,
\`error.param\` for the field to fix, and \`error.retryable\`. Formats, places and colours are read by their usual names (jpg, bottom-right, ff8800).
Begin with the [guidelines](/docs/guidelines.md) and the [errors](/docs/errors.md); a page of Markdown for each op and each endpoint is at
/docs/{operationId}.md and /docs/ops/{op}.md, and [llms.txt](/llms.txt) lists them; without \`.md\` each is HTML.

To generate a client, take /openapi.json as it is (openapi-typescript). With \`?form=multipart\` it is for generators that read one media type
per body (hey-api), or bytes as OpenAPI 3.0 has them (openapi-python-client): files as multipart, pictures as bytes. With \`?ops=createJob,getJob\` it is those operations with what they refer to.`;

/**
 * The tags in the order of the page: the calls that newcomers need first, and those of monitoring last. The tag of a
 * route is the first segment of its path below /api/v1.
 */
const API_TAGS: ReadonlyArray<readonly [name: string, description: string, nouns: readonly string[]]> = [
  ['Images', 'One image in, the answer out, nothing stored.', ['images', 'results', 'fonts']],
  ['Jobs', 'Ops, presets and chains of steps over many assets.', ['jobs']],
  ['Assets', 'Images that the account keeps.', ['assets', 'upload-tickets']],
  ['Delivery', 'Signed addresses of pictures for web pages.', ['signing-keys', 'delivery-links', 'd']],
  ['Collections', 'Assets under a name.', ['collections']],
  ['Presets', 'Steps saved once, versioned, run by name.', ['presets']],
  ['Templates', 'HTML and CSS with placeholders, drawn as pictures.', ['templates']],
  ['Ops', 'The catalogue: every op with its parameters and its price.', ['ops', 'agent-guidelines']],
  ['Models', 'What AI ops run on.', ['ai-models', 'pricing']],
  ['Webhooks', 'Signed announcements of what jobs did.', ['webhook-endpoints']],
  ['Usage', 'What was done, by op, key or day.', ['usage']],
  ['Credits', 'The balance and its movements.', ['credits']],
  ['Accounts', 'The account behind a credential, and console sessions.', ['account', 'auth']],
  ['API keys', 'Issued and revoked in a console session.', ['api-keys']],
  ['Requests', 'What was called last, and what was refused.', ['requests']],
  ['Feedback', 'What the service lacks.', ['feedback']],
  [
    'Operator',
    'Processes, load and settings of the service itself, for the person who runs it.',
    ['operator'],
  ],
  ['Health', 'For machines that look after machines.', ['healthz', 'readyz', 'metrics', 'llms.txt']],
];

function tagsOf(path: string): string[] {
  const noun = path.replace(/^\/api(\/v1)?/, '').split('/')[1] ?? '';
  return API_TAGS.filter(([, , nouns]) => nouns.includes(noun)).map(([name]) => name);
}

/** Serves /openapi.json, generated from all routes that are declared afterwards. */
export async function installOpenApi(app: FastifyInstance, options: OpenApiOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Darkroom',
        version: options.version,
        description: API_DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      tags: API_TAGS.map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'Authorization',
            description: 'An API key (`drk_…`), sent as `ApiKey <key>`.',
          },
          session: { type: 'http', scheme: 'bearer', description: 'A console session (`ses_…`).' },
          operator: {
            type: 'http',
            scheme: 'bearer',
            description: 'OPERATOR_TOKEN, sent as `Bearer <token>`.',
          },
        },
      },
      security: [{ apiKey: [] }, { session: [] }],
    },
    transform: ({ schema, url, route }) => ({ schema: { ...schema, ...describeRoute(route, url) }, url }),
    transformObject: (found) =>
      completeOpenApiDocument(
        ('openapiObject' in found ? found.openapiObject : found.swaggerObject) as DocumentNode,
        webhookOperations(options.webhookPayloads),
      ),
  });

  const documentTexts = new Map<string | undefined, string>();
  function documentText(form: string | undefined): string {
    const known = documentTexts.get(form);
    if (known !== undefined) return known;
    const document: DocumentNode = { ...app.swagger(), servers: [{ url: options.publicUrl() }] };
    const text = JSON.stringify(form === 'multipart' ? multipartDocument(document) : document);
    documentTexts.set(form, text);
    return text;
  }

  app.get<{ Querystring: OpenApiQuery }>(
    '/openapi.json',
    { config: { compress: true }, schema: { hide: true, querystring: OpenApiQuery } },
    async ({ query: { form, ops } }, reply) => {
      const full = documentText(form);
      const text = ops === undefined ? full : JSON.stringify(documentWithOperations(JSON.parse(full), ops));
      return sendStaticContent(reply, 'application/json; charset=utf-8', text);
    },
  );
}

/** The parts of a route's OpenAPI description that come from its config. */
function describeRoute(route: RouteOptions, url: string): DocumentNode {
  const { config = {} } = route;
  const isOpen = config.access === 'public' || !url.startsWith('/api/');
  const security = isOpen ? [] : config.access === 'session' ? [{ session: [] }] : undefined;
  const path = url.replaceAll(/:(\w+)/g, '{$1}');
  const facts: RouteTraits = {
    idempotency: config.idempotency !== undefined,
    isImageCall: url.startsWith('/api/v1/images/'),
    isPublic: isOpen,
  };
  return {
    tags: tagsOf(url),
    operationId: operationIdOf(String([route.method].flat()[0]), path),
    ...(security !== undefined && route.schema?.security === undefined && { security }),
    ...requestBodyOf(route),
    response: responsesOf(route),
    [ROUTE_TRAITS_KEY]: facts,
  };
}

/** The forms of a body that a route accepts, if the route reads the body itself. */
function requestBodyOf({ config = {} }: RouteOptions): DocumentNode {
  if (config.body !== 'stream') return {};
  const bytes = Object.fromEntries(READABLE_MEDIA_TYPES.map((type) => [type, { schema: BYTES_SCHEMA }]));
  const { reference, formFields, secondFile, furtherFiles = [] } = config;
  if (reference === undefined && formFields === undefined) return { body: { content: bytes } };
  const files = secondFile === undefined ? ['file'] : ['file', secondFile];
  const form = {
    type: 'object',
    required: files,
    properties: {
      ...Object.fromEntries([...files, ...furtherFiles].map((name) => [name, BYTES_SCHEMA])),
      ...formFields,
    },
    additionalProperties: true,
  };
  const json = reference === undefined ? {} : { 'application/json': { schema: reference } };
  const alone = secondFile === undefined ? bytes : {};
  return { body: { content: { ...alone, 'multipart/form-data': { schema: form }, ...json } } };
}

/** The responses of a route: those of its schemas, and the other media types that a success may have. */
function responsesOf({ config = {}, schema }: RouteOptions): Record<string, unknown> {
  const responses = (schema?.response ?? {}) as Record<string, unknown>;
  if (config.responseType === undefined) return responses;
  const types = [config.responseType]
    .flat()
    .flatMap((type) => (type === 'image/*' ? READABLE_MEDIA_TYPES : [type]));
  const schemaOf = (type: string) => (type.startsWith('text/') ? { type: 'string' } : BYTES_SCHEMA);
  const json = responses[200] === undefined ? {} : { 'application/json': { schema: responses[200] } };
  const content = { ...Object.fromEntries(types.map((type) => [type, { schema: schemaOf(type) }])), ...json };
  return { ...responses, 200: { description: 'Success', content } };
}

const requiredHeader = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});

const WEBHOOK_HEADERS = [
  requiredHeader('webhook-id', 'The id of the event: the same at every attempt.'),
  requiredHeader('webhook-timestamp', 'Unix seconds of the attempt.'),
  requiredHeader(
    'webhook-signature',
    'By Standard Webhooks: `v1,` and the base64 of an HMAC-SHA256 with your secret.',
  ),
];

/**
 * The calls that the service makes: one operation for each type of event.
 * @param payloads the schemas of the bodies, by type.
 */
function webhookOperations(payloads: Readonly<Record<string, object>>): DocumentNode {
  return Object.fromEntries(
    Object.entries(payloads).map(([type, schema]) => {
      const name = type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
      const post = {
        operationId: `on${name}`,
        summary: `${type} is delivered to an endpoint that subscribes to it`,
        tags: ['Webhooks'],
        security: [],
        parameters: WEBHOOK_HEADERS,
        requestBody: { required: true, content: { 'application/json': { schema } } },
        responses: { '2XX': { description: 'Taken. Every other answer is a failure, and is tried again.' } },
      };
      return [type, { post }];
    }),
  );
}
