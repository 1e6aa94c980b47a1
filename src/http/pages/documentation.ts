import type { FastifyInstance } from 'fastify';
import { ApiError, ERROR_CODES } from '../errors.ts';
import { sendStanding } from '../manners/compression.ts';
import type { Node } from '../openapi/document.ts';

export interface PagesOptions {
  /** Pages that slices wrote, by their path below /docs and without `.md`. */
  pages: () => Readonly<Record<string, string>>;
}

const MARKDOWN = 'text/markdown; charset=utf-8';

/** GET /docs/{name}.md: the documentation as Markdown, one page per op, an endpoint and what all of them share. */
export async function pageRoutes(app: FastifyInstance, { pages }: PagesOptions): Promise<void> {
  const config = { answers: 'text/*', compress: true } as const;
  let written: Map<string, string> | undefined;
  const pageOf = (name: string) => {
    written ??= new Map([
      ...Object.entries(pages()),
      ['errors', errorsPage()],
      ...endpointPages(app.swagger() as unknown as Node),
    ]);
    return written.get(name);
  };
  for (const path of ['/docs/:page', '/docs/ops/:page']) {
    app.get<{ Params: { page: string } }>(
      path,
      { config, schema: { hide: true } },
      async (request, reply) => {
        const name = /^(\w+)\.md$/.exec(request.params.page)?.[1] ?? '';
        const page = pageOf(path.startsWith('/docs/ops') ? `ops/${name}` : name);
        if (page === undefined) {
          throw new ApiError('not_found', 'There is no such page: GET /llms.txt lists them.', {
            param: 'page',
          });
        }
        return sendStanding(reply, MARKDOWN, page);
      },
    );
  }
}

function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { status, retryable }]) => `| ${code} | ${status} | ${retryable ? 'yes' : 'no'} |`,
  );
  return `# Errors

A failure is \`{"success": false, "error": {"code", "message", "retryable", "param", "details", "requestId"}, "timestamp"}\`. Branch on the
code. When it is retryable, wait (Retry-After seconds, else longer each time) and make the same call with the same Idempotency-Key.
Otherwise mend the field in param; details has what is allowed, and a sub-reason in details.reason.

| code | HTTP | retryable |
| --- | --- | --- |
${rows.join('\n')}
`;
}

interface Operation {
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
    schema?: Node;
  }>;
  requestBody?: { content: Record<string, { schema?: Node }> };
  responses: Record<string, unknown>;
}

function endpointPages(document: Node): Array<[name: string, page: string]> {
  const paths = document.paths as Record<string, Record<string, Operation>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string] => [
      operation.operationId,
      endpointPage(`${method.toUpperCase()} ${path}`, operation, document),
    ]),
  );
}

function endpointPage(call: string, operation: Operation, document: Node): string {
  const { summary = '', description, security, parameters = [], requestBody, responses } = operation;
  const open = security?.length === 0;
  const named = parameters.filter(({ name }) => name !== undefined);
  const takesKey = parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey'));
  const answers = Object.keys(responses).filter((status) => /^\d+$/.test(status));
  return [
    `# ${summary}\n`,
    `\`${call}\`\n`,
    ...(description === undefined ? [] : [`${description}\n`]),
    open ? '- No credential is needed.' : '- Send `Authorization: ApiKey <key>`.',
    ...(takesKey ? ['- Takes an Idempotency-Key.'] : []),
    `- Answers ${answers.join(', ')}; refusals are in /docs/errors.md.`,
    '',
    ...(named.length === 0 ? [] : ['## Parameters\n', ...named.map(parameterLine), '']),
    ...Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) =>
      bodyLines(type, schema, document),
    ),
  ].join('\n');
}

function parameterLine({
  name,
  in: place,
  required,
  description = '',
  schema = {},
}: NonNullable<Operation['parameters']>[number]): string {
  return `- ${name} (${place}${required ? ', required' : ''}): ${typeOf(schema)}. ${description}`;
}

function bodyLines(type: string, schema: Node | undefined, document: Node): string[] {
  if (schema === undefined || type.startsWith('image/'))
    return type === 'image/jpeg'
      ? ['## Body\n', 'The bytes of an image with their own Content-Type; or:\n']
      : [];
  const text = JSON.stringify(resolved(schema, document), null, 2);
  const shown =
    text.length > LONGEST_SCHEMA
      ? 'See the schema of this operation in /openapi.json.'
      : `\`\`\`json\n${text}\n\`\`\``;
  return [`## Body as ${type}\n`, shown, ''];
}

const LONGEST_SCHEMA = 12_000;

function resolved(schema: Node, document: Node): Node {
  const { $ref } = schema as { $ref?: string };
  if ($ref === undefined) return schema;
  const schemas = (document.components as { schemas: Record<string, Node> }).schemas;
  return schemas[$ref.split('/').at(-1) ?? ''] ?? schema;
}

function typeOf({ type, enum: words, minimum, maximum, anyOf }: Node): string {
  if (Array.isArray(words)) return words.join(', ');
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one as Node)).join(' or ');
  const bounds = minimum === undefined || maximum === undefined ? '' : ` ${minimum} to ${maximum}`;
  return `${type ?? 'any'}${bounds}`;
}
