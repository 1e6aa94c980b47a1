import type { Node } from '../openapi/document.ts';
import { SchemaReader } from './schema-reader.ts';

interface Media {
  schema?: Node;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

/** The parts of an operation of the OpenAPI document that its page uses. */
export interface DocumentedOperation {
  operationId: string;
  summary?: string;
  description?: string;
  security?: object[];
  parameters?: Array<{
    $ref?: string;
    name?: string;
    in?: string;
    required?: boolean;
    description?: string;
    example?: unknown;
    schema?: Node;
  }>;
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { $ref?: string; content?: Record<string, Media> }>;
}

/** The most fields of a body or a response on a page. Larger schemas describe ops, which have their own pages. */
const MAX_FIELDS = 90;

/**
 * The page of an endpoint as Markdown: how it is called, with an example, its parameters, its body, and its answer with
 * an example.
 * @param call method and path.
 */
export function endpointPage(call: string, operation: DocumentedOperation, document: Node): string {
  const { summary = '', description, security, parameters = [], requestBody, responses } = operation;
  const reader = new SchemaReader(document);
  const named = parameters.filter(({ name }) => name !== undefined);
  const takesKey = parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey'));
  const answers = Object.entries(responses).filter(
    ([status, { $ref }]) => /^\d+$/.test(status) && $ref === undefined,
  );
  const bodies = Object.entries(requestBody?.content ?? {});
  return [
    `# ${summary}\n`,
    `\`${call}\`\n`,
    ...(description === undefined ? [] : [`${description}\n`]),
    security?.length === 0 ? '- No credential is needed.' : '- Send `Authorization: ApiKey <key>`.',
    ...(takesKey ? ['- Takes an Idempotency-Key.'] : []),
    `- Answers ${answers.map(([status]) => status).join(', ')}; refusals are in /docs/errors.md.`,
    '',
    ...curlLines(call, operation, reader),
    ...(named.length === 0 ? [] : ['## Parameters\n', ...named.map((one) => parameterLine(one, reader)), '']),
    ...bodies.flatMap(([type, media]) => bodyLines(type, media, reader)),
    ...responsesLines(answers, reader),
  ].join('\n');
}

/** The responses by status; fields that are already listed are not repeated. */
function responsesLines(
  answers: [status: string, DocumentedOperation['responses'][string]][],
  reader: SchemaReader,
): string[] {
  const listed = new Set<string>();
  return answers.flatMap(([status, { content = {} }]) =>
    Object.entries(content).flatMap(([type, media]) => {
      const lines = responseLines(status, type, media, reader);
      const fields = lines.filter((line) => line.startsWith('- '));
      const isKnown = fields.length > 0 && fields.every((line) => listed.has(line));
      for (const line of fields) listed.add(line);
      return isKnown ? [`## ${status}\n`, 'Some of the fields above.', ''] : lines;
    }),
  );
}

/** The call as a shell command, with a JSON body if the call has one, else with the first kind of body. */
function curlLines(call: string, operation: DocumentedOperation, reader: SchemaReader): string[] {
  const [method = '', path = ''] = call.split(' ');
  const { parameters = [], security, requestBody } = operation;
  const filled = parameters.reduce(
    (text, { name, example }) => text.replace(`{${name}}`, String(example ?? name)),
    path,
  );
  const inQuery = parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const query = inQuery
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
    .join('&');
  const words = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "$DARKROOM${filled}${query === '' ? '' : `?${query}`}"`,
    ...(security?.length === 0 ? [] : ['-H "Authorization: ApiKey $KEY"']),
    ...bodyWords(requestBody?.content ?? {}, reader),
  ];
  return ['```sh', words.join(' \\\n  '), '```', ''];
}

function bodyWords(content: Record<string, Media>, reader: SchemaReader): string[] {
  const { 'multipart/form-data': form, 'application/json': json } = content;
  if (form !== undefined) {
    const files = (form.schema?.required ?? []) as string[];
    return files.map((name) => `-F ${name}=@photo.jpg`);
  }
  if (json === undefined) {
    return Object.keys(content).length === 0
      ? []
      : ['-H "Content-Type: image/jpeg"', '--data-binary @photo.jpg'];
  }
  const body = JSON.stringify(exampleOf(json, reader)).replaceAll("'", "'\\''");
  return ['-H "Content-Type: application/json"', `-d '${body}'`];
}

function exampleOf({ schema = {}, example, examples = {} }: Media, reader: SchemaReader): unknown {
  return example ?? Object.values(examples)[0]?.value ?? reader.exampleOf(schema);
}

function parameterLine(
  {
    name,
    in: location,
    required,
    description = '',
    schema = {},
  }: NonNullable<DocumentedOperation['parameters']>[number],
  reader: SchemaReader,
): string {
  return `- ${name} (${location}${required ? ', required' : ''}): ${reader.typeOf(schema)}. ${description}`;
}

function bodyLines(type: string, media: Media, reader: SchemaReader): string[] {
  if (type.startsWith('image/')) {
    return type === 'image/jpeg'
      ? ['## Body\n', 'The bytes of an image with their own Content-Type; or:\n']
      : [];
  }
  return mediaLines(`Body as ${type}`, type, media, reader);
}

function responseLines(status: string, type: string, media: Media, reader: SchemaReader): string[] {
  if (type.startsWith('image/')) return type === 'image/jpeg' ? [`## ${status}: the picture\n`] : [];
  if (!type.includes('json')) return [`## ${status}: ${type}\n`];
  return mediaLines(status, type, media, reader);
}

/** The fields of a body or a response, and an example of it as JSON. */
function mediaLines(heading: string, type: string, media: Media, reader: SchemaReader): string[] {
  const fields = reader.fieldsOf(media.schema ?? {});
  const listed =
    fields.length > MAX_FIELDS
      ? ['The fields follow from the op: /docs/ops/{op}.md lists them, and /openapi.json has all.']
      : fields;
  const example = type.includes('json')
    ? ['```json', JSON.stringify(exampleOf(media, reader), null, 2), '```', '']
    : [];
  return [`## ${heading}\n`, ...listed, ...(listed.length === 0 ? [] : ['']), ...example];
}
