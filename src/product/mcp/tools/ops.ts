import { Type } from '@sinclair/typebox';
import type { OpDefinition, OpParameter } from '../../../client/schema.ts';
import { TRANSFORM_ENDPOINT } from '../../catalogue/op.ts';
import { PASS_PARAMETERS } from '../../catalogue/parameters.ts';
import { defineTool } from '../tool.ts';

/** The maximum length of an op's line in the list. */
const MAX_OP_LINE_CHARACTERS = 60;
/** The maximum length of a table of parameters: about 250 tokens. */
const MAX_PARAMETER_TABLE_CHARACTERS = 760;
/**
 * The lengths to which the descriptions of parameters may be shortened. The longest one with which the table fits is
 * used.
 */
const DESCRIPTION_LENGTHS = [120, 80, 56, 40, 28, 0];

export const opsTool = defineTool({
  name: 'ops',
  title: 'List ops',
  description: 'All ops, a line each; with name, the parameters of that op: type, bounds, default, meaning.',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: { name: Type.Optional(Type.String()) },
  output: { ops: Type.Array(Type.String()), op: Type.String(), parameters: Type.Array(Type.String()) },
  async run({ name }, { service }) {
    if (name === undefined)
      return opsListText((await service.json<OpDefinition[]>({ method: 'GET', path: '/ops' })).data);
    const call = { method: 'GET', path: `/ops/${encodeURIComponent(name)}` };
    return parameterTable((await service.json<OpDefinition>(call)).data);
  },
});

/**
 * The groups of the list of ops. Each title says which tools run the ops of the group; the function says whether an op
 * belongs to it.
 */
const OP_GROUPS: ReadonlyArray<readonly [title: string, has: (op: OpDefinition) => boolean]> = [
  ['run or job', ({ syncEndpoint }) => syncEndpoint === TRANSFORM_ENDPOINT],
  ['job, for credits', ({ kind }) => kind === 'ai'],
  ['job (facts, compare and render do them at once)', ({ kind }) => kind === 'deterministic'],
];

function opsListText(definitions: readonly OpDefinition[]) {
  const groups = Map.groupBy(definitions, (op) => OP_GROUPS.find(([, has]) => has(op))?.[0]);
  const lines = OP_GROUPS.flatMap(([title]) => [
    `# ${title}`,
    ...(groups.get(title) ?? []).map(
      ({ op, description }) => `${op}: ${shortenedSentence(description, MAX_OP_LINE_CHARACTERS)}`,
    ),
  ]);
  return { structured: { ops: lines }, text: lines.join('\n') };
}

/** The parameters of an op as a table. The parameters that many ops share are listed by name on one line. */
function parameterTable({ op, kind, description, params, defaultModel, requiresPrompt }: OpDefinition) {
  const isShared = (name: string) => kind === 'deterministic' && Object.hasOwn(PASS_PARAMETERS, name);
  const own = Object.entries(params).filter(([name]) => !isShared(name));
  const shared = Object.entries(params).filter(([name]) => isShared(name));
  const head = [
    `${op}: ${shortenedSentence(description, 120)}`,
    ...(defaultModel === undefined ? [] : [`model ${defaultModel}${requiresPrompt ? '; needs prompt' : ''}`]),
  ];
  const tail = shared.length === 0 ? [] : [`also ${shared.map(sharedParameterText).join(' ')}`];
  const tables = DESCRIPTION_LENGTHS.map((length) => own.map((entry) => parameterLine(entry, length)));
  const fits = (lines: string[]) =>
    [...head, ...lines, ...tail].join('\n').length <= MAX_PARAMETER_TABLE_CHARACTERS;
  const parameters = [...(tables.find(fits) ?? tables.at(-1) ?? []), ...tail];
  return { structured: { op: head.join('. '), parameters }, text: [...head, ...parameters].join('\n') };
}

/** The name of a shared parameter. For `format`, the values are added, because most calls send it. */
function sharedParameterText([name, parameter]: [string, OpParameter]): string {
  return name === 'format' ? `format=${acceptedValuesText(parameter)}` : name;
}

function parameterLine([name, parameter]: [string, OpParameter], length: number): string {
  const { default: fallback, description } = parameter;
  const otherwise = fallback === undefined ? '' : `=${fallback}`;
  const meaning = length === 0 ? '' : ` ${shortenedSentence(description, length)}`;
  return `${name} ${acceptedValuesText(parameter)}${otherwise}${meaning}`;
}

/** The accepted values of a parameter, such as `cover|contain` or `integer 1..100`. */
function acceptedValuesText({ type, enum: words, min, max }: OpParameter): string {
  if (words !== undefined) return words.join('|');
  const bounds = min === undefined && max === undefined ? '' : ` ${min ?? ''}..${max ?? ''}`;
  return `${type}${bounds}`;
}

/** Matches words with which a shortened text must not end, because another word has to follow them. */
const TRAILING_FUNCTION_WORDS_PATTERN =
  /(?: (?:an?|the|of|and|or|by|with|like|its|as|how|in|on|for|to|what|when|that|over|beyond|they))+$/;

/** The first sentence of a text. If it is too long, it is shortened at a comma or a word. */
function shortenedSentence(text: string, length: number): string {
  const [sentence = ''] = text.split(/[.;:](?: |$)/);
  if (sentence.length <= length) return sentence;
  const cut = sentence.slice(0, length + 1).replace(/[\s,(]+\S*$/, '');
  const comma = cut.lastIndexOf(',');
  return (comma > length / 2 ? cut.slice(0, comma) : cut).replace(TRAILING_FUNCTION_WORDS_PATTERN, '');
}
