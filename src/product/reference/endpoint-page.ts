import type { DocumentNode } from '../../platform/http/openapi/document.ts';
import {
  type DocumentationPage,
  type DocumentedField,
  fieldsBlock,
  headingBlock,
  jsonSampleBlock,
  listBlock,
  type PageBlock,
  type Prose,
  pageLink,
  paragraphBlock,
  type TrialEndpointCall,
  type TrialInput,
} from '../../platform/pages/page.ts';
import { parseBlocks } from '../../platform/pages/parse.ts';
import { callSamplesBlock, type SampleCall } from './call.ts';
import { SchemaReader } from './schema-reader.ts';

interface DocumentedMedia {
  schema?: DocumentNode;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

interface DocumentedParameter {
  $ref?: string;
  name?: string;
  in?: string;
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: DocumentNode;
}

type DocumentedResponse = [status: string, answer: DocumentedOperation['responses'][string]];

/** The parts of an operation in the OpenAPI document that its page shows. */
export interface DocumentedOperation {
  operationId: string;
  summary?: string;
  description?: string;
  security?: object[];
  parameters?: DocumentedParameter[];
  requestBody?: { content: Record<string, DocumentedMedia> };
  responses: Record<string, { $ref?: string; content?: Record<string, DocumentedMedia> }>;
}

/**
 * The maximum number of listed fields of a body or a response. Only schemas of ops are larger, and ops have pages of
 * their own.
 */
const MAX_LISTED_FIELDS = 90;

/** The page of an endpoint: an example of a call, the parameters, the body, and each response with an example. */
export function endpointPage(
  { path, method, operation }: { path: string; method: string; operation: DocumentedOperation },
  document: DocumentNode,
): DocumentationPage {
  const { summary = '', description = '', security, parameters = [], requestBody, responses } = operation;
  const reader = new SchemaReader(document);
  const namedParameters = parameters.filter(({ name }) => name !== undefined);
  const takesIdempotencyKey = parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey'));
  const documentedResponses: DocumentedResponse[] = Object.entries(responses).filter(
    ([status, { $ref }]) => /^\d+$/.test(status) && $ref === undefined,
  );
  const bodies = Object.entries(requestBody?.content ?? {});
  const call = exampleCall(method, path, operation, reader);
  const facts: (Prose | string)[] = [
    security?.length === 0
      ? 'No credential is needed.'
      : `Send \`Authorization: ${credentialOf(security)}\`.`,
    ...(takesIdempotencyKey ? ['Takes an Idempotency-Key.'] : []),
    [
      `Answers ${documentedResponses.map(([status]) => status).join(', ')}; refusals are in `,
      pageLink('the page of errors', '/docs/errors'),
      '.',
    ],
  ];
  return {
    title: summary,
    lead: `\`${method.toUpperCase()} ${path}\``,
    blocks: [
      ...parseBlocks(description),
      listBlock(...facts),
      callSamplesBlock(call),
      ...(namedParameters.length === 0
        ? []
        : [
            headingBlock('Parameters'),
            fieldsBlock(namedParameters.map((parameter) => parameterField(parameter, reader))),
          ]),
      ...bodies.flatMap(([type, media]) => bodyBlocks(type, media, reader)),
      // Calls of the operator have no form, because the form sends an account's API key.
      ...(isForOperator(security) ? [] : [trialForm(path, call, namedParameters)]),
      ...responseBlocks(documentedResponses, reader),
    ],
  };
}

/** A form that makes the call of the page. At first, its inputs contain the values of the example. */
function trialForm(
  path: string,
  { method, query = {}, needsKey, body }: SampleCall,
  namedParameters: DocumentedParameter[],
): PageBlock {
  const inputs = namedParameters
    .filter((one) => one.in === 'path' || one.in === 'query')
    .map(({ name = '', in: location, schema = {} }): TrialInput => {
      const words: unknown = schema.type === 'boolean' ? [true, false] : schema.enum;
      const choices = Array.isArray(words) ? words.map(String) : undefined;
      const value = String(query[name] ?? '');
      const isRequired = location === 'path';
      return { name, value, isJson: false, isRequired, ...(choices !== undefined && { choices }) };
    });
  return { kind: 'trial', path, sends: { method, needsKey, ...trialBodyOf(body) }, inputs };
}

function trialBodyOf(body: SampleCall['body']): Pick<TrialEndpointCall, 'body'> {
  if (body === undefined) return {};
  if ('json' in body) return { body: { json: JSON.stringify(body.json, null, 2) } };
  return { body: 'file' in body ? 'file' : { files: Object.keys(body.parts) } };
}

function credentialOf(security: DocumentedOperation['security']): string {
  return isForOperator(security) ? 'Bearer <OPERATOR_TOKEN>' : 'ApiKey <key>';
}

function isForOperator(security: DocumentedOperation['security'] = []): boolean {
  return security.some((scheme) => 'operator' in scheme);
}

/** The responses by status. The fields of a response are left out if all of them are listed above already. */
function responseBlocks(
  documentedResponses: readonly DocumentedResponse[],
  reader: SchemaReader,
): PageBlock[] {
  const listed = new Set<string>();
  return documentedResponses.flatMap(([status, { content = {} }]) =>
    Object.entries(content).flatMap(([type, media]) => {
      if (type.startsWith('image/'))
        return type === 'image/jpeg' ? [headingBlock(`${status}: the picture`)] : [];
      if (!type.includes('json')) return [headingBlock(`${status}: ${type}`)];
      const fields = reader.fieldsOf(media.schema ?? {}).map((field) => JSON.stringify(field));
      const isKnown = fields.length > 0 && fields.every((field) => listed.has(field));
      for (const field of fields) listed.add(field);
      if (isKnown) return [headingBlock(status), paragraphBlock('Some of the fields above.')];
      return schemaBlocks(status, type, media, reader);
    }),
  );
}

/** An example of the call. Each parameter has its example value, and the body is the simplest one that is accepted. */
function exampleCall(
  method: string,
  path: string,
  { parameters = [], security, requestBody, responses }: DocumentedOperation,
  reader: SchemaReader,
): SampleCall {
  const filled = parameters.reduce(
    (text, { name, example }) => text.replace(`{${name}}`, String(example ?? name)),
    path,
  );
  const inQuery = parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const body = exampleBody(requestBody?.content ?? {}, reader);
  const saves = responseFileName(Object.keys(responses[200]?.content ?? {}));
  return {
    method: method.toUpperCase(),
    path: filled,
    query: Object.fromEntries(inQuery.map(({ name = '', example }) => [name, example])),
    needsKey: security?.length !== 0,
    ...(isForOperator(security) && { scheme: 'Bearer' }),
    ...(body !== undefined && { body }),
    ...(saves !== undefined && { saves }),
  };
}

function exampleBody(content: Record<string, DocumentedMedia>, reader: SchemaReader): SampleCall['body'] {
  const { 'multipart/form-data': form, 'application/json': media } = content;
  if (form !== undefined) {
    const files = (form.schema?.required ?? []) as string[];
    return { parts: Object.fromEntries(files.map((name) => [name, 'photo.jpg'])) };
  }
  if (media !== undefined) return { json: exampleOf(media, reader) };
  return Object.keys(content).length === 0 ? undefined : { file: 'photo.jpg', type: 'image/jpeg' };
}

/** The name of the file for a response of these media types; undefined for JSON. */
function responseFileName(types: readonly string[]): string | undefined {
  if (types.includes('image/jpeg')) return 'picture.jpg';
  if (types.includes('application/zip')) return 'answer.zip';
  return types.length === 0 || types.includes('application/json') ? undefined : 'answer';
}

function exampleOf({ schema = {}, example, examples = {} }: DocumentedMedia, reader: SchemaReader): unknown {
  return example ?? Object.values(examples)[0]?.value ?? reader.exampleOf(schema);
}

function parameterField(
  { name = '', in: location, required, description = '', schema = {} }: DocumentedParameter,
  reader: SchemaReader,
): DocumentedField {
  const { default: fallback } = schema;
  return {
    name,
    takes: reader.typeOf(schema),
    note: `${location}${required ? ', required' : ''}`,
    ...(fallback !== undefined && { fallback: String(fallback) }),
    description,
  };
}

function bodyBlocks(type: string, media: DocumentedMedia, reader: SchemaReader): PageBlock[] {
  if (type.startsWith('image/')) {
    return type === 'image/jpeg'
      ? [headingBlock('Body'), paragraphBlock('The bytes of an image with their own Content-Type; or:')]
      : [];
  }
  return schemaBlocks(`Body as ${type}`, type, media, reader);
}

/** The fields of a body or a response, and an example as JSON. */
function schemaBlocks(
  title: string,
  type: string,
  media: DocumentedMedia,
  reader: SchemaReader,
): PageBlock[] {
  const fields = reader.fieldsOf(media.schema ?? {});
  const listed =
    fields.length > MAX_LISTED_FIELDS
      ? [
          paragraphBlock(
            'The fields follow from the op: ',
            pageLink('the pages of the ops', '/docs/ops'),
            ' list them, and ',
            pageLink('/openapi.json', '/openapi.json'),
            ' has all.',
          ),
        ]
      : [fieldsBlock(fields)];
  return [
    headingBlock(title),
    ...(fields.length === 0 ? [] : listed),
    ...(type.includes('json') ? [jsonSampleBlock('Example', exampleOf(media, reader))] : []),
  ];
}
