import type { OpDefinition, OpParameter } from '../schema.ts';

/**
 * The synchronous call of an op as `POST /path?query`, with the image as its body; for a render, followed by its JSON
 * body. Undefined for an op that runs in jobs only.
 */
export function syncCall({
  endpoint,
  syncEndpoint,
  syncParams,
  syncExample = {},
}: OpDefinition): string | undefined {
  if (endpoint !== undefined) return `POST /api/v1${endpoint}`;
  if (syncEndpoint === undefined) return undefined;
  if (syncParams !== undefined) return `POST /api/v1${syncEndpoint} ${JSON.stringify(syncExample)}`;
  const query = Object.entries(syncExample).map(([name, value]) => `${name}=${inQuery(value)}`);
  return `POST /api/v1${syncEndpoint}${query.length === 0 ? '' : `?${query.join('&')}`}`;
}

/**
 * Escapes a query value readably: JSON keeps its brackets and quotes, and only characters that would end the value are
 * escaped.
 */
function inQuery(value: unknown): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.replace(/[^A-Za-z0-9_.~:,{}[\]"-]/gu, (character) => encodeURIComponent(character));
}

/** The documentation page of an op, as Markdown. */
export function opPage(definition: OpDefinition): string {
  const { op, kind, description, params, syncParams, pricing, produces, jobType, example } = definition;
  const call = syncCall(definition);
  return [
    `# ${op}\n`,
    `${description}\n`,
    `- kind: ${kind}; makes ${produces}${jobType === undefined ? '' : `; job type ${jobType}`}`,
    `- price: ${pricing.summary}`,
    ...modelLines(definition),
    '',
    ...(call === undefined
      ? ['Runs in jobs only.\n']
      : ['## While you wait\n', ...commandLines(definition, call)]),
    ...(syncParams === undefined ? [] : ['Its body:\n', ...table(syncParams)]),
    ...(example === undefined
      ? []
      : [
          '## As a job\n',
          'Body of POST /api/v1/jobs:\n',
          '```json',
          JSON.stringify(example, null, 2),
          '```',
          '',
        ]),
    `## Parameters${syncParams === undefined ? '' : ' of a job'}\n`,
    ...(Object.keys(params).length === 0 ? ['None.\n'] : table(params)),
  ].join('\n');
}

function modelLines({ defaultModel, modelCategory }: OpDefinition): string[] {
  if (modelCategory === undefined) return [];
  const model = defaultModel === undefined ? 'none is offered here: name one' : defaultModel;
  return [`- model: ${model}; others of category ${modelCategory} are in GET /api/v1/ai-models`];
}

function commandLines({ syncParams }: OpDefinition, call: string): string[] {
  const [, path = '', body] = /^POST (\S+)(?: (.+))?$/.exec(call) ?? [];
  const sent =
    syncParams === undefined
      ? '-H "Content-Type: image/jpeg" --data-binary @photo.jpg'
      : `-H "Content-Type: application/json" -d '${body}'`;
  // -g keeps curl from reading brackets as a pattern, and quotes are written for the shell.
  const url = path.replaceAll('"', '%22');
  return [
    '```sh',
    `curl -g -H "Authorization: ApiKey $KEY" ${sent} \\`,
    `  "$BASE${url}" -o result`,
    '```',
    '',
  ];
}

function table(params: Record<string, OpParameter>): string[] {
  return [...Object.entries(params).map(([name, parameter]) => `- ${name}: ${parameterLine(parameter)}`), ''];
}

/** The type, bounds, values, default and meaning of a parameter in one line. */
export function parameterLine({
  type,
  enum: words,
  min,
  max,
  default: fallback,
  description,
}: OpParameter): string {
  const types = type.split(' or ');
  // If there are several types, the bounds are those of the number, and the text is one of a list of values.
  const bounded = types.filter(isNumeric).length > 0 ? isNumeric : () => true;
  const worded = types.includes('string') ? 'string' : types[0];
  const described = types.map((one) => {
    if (words !== undefined && one === worded) return words.join(', ');
    return `${one}${bounded(one) ? boundsOf(one, min, max) : ''}`;
  });
  const otherwise = fallback === undefined ? '' : `; default ${String(fallback).replace(/\.$/, '')}`;
  return `${described.join(' or ')}${otherwise}. ${description}`;
}

function isNumeric(type: string): boolean {
  return type === 'integer' || type === 'number';
}

/** The bounds of a number, or of the length of a text or a list. */
function boundsOf(type: string, min: number | undefined, max: number | undefined): string {
  if (min === undefined && max === undefined) return '';
  const counted = isNumeric(type) ? '' : type === 'array' ? ' entries' : ' characters';
  if (max === undefined) return ` of at least ${min}${counted}`;
  if (min === undefined) return ` of at most ${max}${counted}`;
  return counted === '' ? ` ${min} to ${max}` : ` of ${min} to ${max}${counted}`;
}
