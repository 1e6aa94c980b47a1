import type { PageBlock, PageSample } from '../../platform/pages/page.ts';
import { readableQueryText } from '../catalogue/pages/query-text.ts';

/** A call of the API for the samples. The variable BASE contains the address of the service, and KEY the API key. */
export interface SampleCall {
  method: string;
  path: string;
  query?: Readonly<Record<string, unknown>>;
  needsKey: boolean;
  /** The scheme of the Authorization header. Default: ApiKey. */
  scheme?: 'ApiKey' | 'Bearer';
  body?:
    | { json: unknown }
    /** A file as the whole body. */
    | { file: string; type: string }
    /** A multipart form with files and text fields, by their names. */
    | { parts: Readonly<Record<string, string>>; texts?: Readonly<Record<string, string>> };
  /** The name of the file that stores the response. Absent for JSON, which is printed. */
  saves?: string;
}

/** Matches the asset ids in examples. Samples contain the variable ASSET instead. */
const ASSET_PLACEHOLDER_PATTERN = /"ast_(?:0{24}|1{24})"/g;

type FilledCall = SampleCall & Required<Pick<SampleCall, 'query' | 'scheme'>>;

/** Samples of a call: one for curl, one in TypeScript and one in Python. */
export function callSamples(call: SampleCall): PageSample[] {
  const filled: FilledCall = { query: {}, scheme: 'ApiKey', ...call };
  return [curlSample(filled), typeScriptSample(filled), pythonSample(filled)];
}

/**
 * A block with tabs: the samples of a call in each language.
 * @param more further samples of the same call.
 */
export function callSamplesBlock(call: SampleCall, ...more: readonly PageSample[]): PageBlock {
  return { kind: 'samples', samples: [...callSamples(call), ...more] };
}

function curlSample({ method, path, query, needsKey, scheme, body, saves }: FilledCall): PageSample {
  const text = readableQueryText(query);
  const url = `"$BASE${path}${text === '' ? '' : `?${text.replaceAll('"', '%22')}`}"`;
  const methodOption = method === (body === undefined ? 'GET' : 'POST') ? '' : ` -X ${method}`;
  // With -g, curl takes brackets in an address literally.
  const parts = [
    `curl${/[[\]{}]/.test(text) ? ' -g' : ''}${methodOption} ${url}`,
    ...(needsKey ? [`-H "Authorization: ${scheme} $KEY"`] : []),
    ...curlBodyOptions(body),
    ...(saves === undefined ? [] : [`-o ${saves}`]),
  ];
  return { label: 'curl', language: 'sh', code: parts.join(' \\\n  ') };
}

function curlBodyOptions(body: SampleCall['body']): string[] {
  if (body === undefined) return [];
  if ('file' in body) return [`-H "Content-Type: ${body.type}"`, `--data-binary @${body.file}`];
  if ('parts' in body)
    return [
      ...Object.entries(body.parts).map(([name, file]) => `-F ${name}=@${file}`),
      ...Object.entries(body.texts ?? {}).map(([name, text]) => `-F '${name}=${escapeSingleQuotes(text)}'`),
    ];
  const text = escapeSingleQuotes(JSON.stringify(body.json)).replaceAll(
    ASSET_PLACEHOLDER_PATTERN,
    `"'$ASSET'"`,
  );
  return ['-H "Content-Type: application/json"', `-d '${text}'`];
}

/** Escapes the single quotes in a text that is put between single quotes in a shell. */
function escapeSingleQuotes(text: string): string {
  return text.replaceAll("'", "'\\''");
}

function typeScriptSample({ method, path, query, needsKey, scheme, body, saves }: FilledCall): PageSample {
  const hasQuery = Object.keys(query).length > 0;
  const headers = [
    ...(needsKey ? [`authorization: \`${scheme} \${process.env.KEY}\``] : []),
    ...(body !== undefined && 'json' in body ? ["'content-type': 'application/json'"] : []),
    ...(body !== undefined && 'file' in body ? [`'content-type': '${body.type}'`] : []),
  ];
  const names = [
    ...(body !== undefined && 'parts' in body ? ['openAsBlob'] : []),
    ...(body !== undefined && 'file' in body ? ['readFileSync'] : []),
    ...(saves === undefined ? [] : ['writeFileSync']),
  ];
  const lines = [
    ...(names.length === 0 ? [] : [`import { ${names.join(', ')} } from 'node:fs';`, '']),
    ...(hasQuery
      ? [`const query = new URLSearchParams(${literalOf(queryTexts(query), SCRIPT_SYNTAX)});`]
      : []),
    ...(body !== undefined && 'parts' in body ? scriptFormLines(body.parts, body.texts) : []),
    `const response = await fetch(\`\${process.env.BASE}${path}${hasQuery ? `?\${query}` : ''}\`, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...scriptBodyLines(body),
    '});',
    'if (!response.ok) throw new Error(await response.text());',
    saves === undefined
      ? 'console.log(await response.json());'
      : `writeFileSync('${saves}', Buffer.from(await response.arrayBuffer()));`,
  ];
  return { label: 'TypeScript', language: 'ts', code: lines.join('\n') };
}

function scriptFormLines(
  parts: Readonly<Record<string, string>>,
  texts: Readonly<Record<string, string>> = {},
): string[] {
  const files = Object.entries(parts).map(
    ([name, file]) => `form.set('${name}', await openAsBlob('${file}'), '${file}');`,
  );
  const others = Object.entries(texts).map(
    ([name, text]) => `form.set('${name}', ${literalOf(text, SCRIPT_SYNTAX)});`,
  );
  return ['const form = new FormData();', ...files, ...others];
}

function scriptBodyLines(body: SampleCall['body']): string[] {
  if (body === undefined) return [];
  if ('file' in body) return [`  body: readFileSync('${body.file}'),`];
  if ('parts' in body) return ['  body: form,'];
  return [`  body: JSON.stringify(${literalOf(body.json, SCRIPT_SYNTAX, '  ')}),`];
}

function pythonSample({ method, path, query, needsKey, scheme, body, saves }: FilledCall): PageSample {
  const headers = [
    ...(needsKey ? [`"Authorization": "${scheme} " + os.environ["KEY"]`] : []),
    ...(body !== undefined && 'file' in body ? [`"Content-Type": "${body.type}"`] : []),
  ];
  const lines = [
    'import os, requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    os.environ["BASE"] + "${path}",`,
    ...(Object.keys(query).length === 0
      ? []
      : [`    params=${literalOf(queryTexts(query), PYTHON_SYNTAX, '    ')},`]),
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(', ')}},`]),
    ...pythonBodyLines(body),
    ')',
    'if not response.ok: raise SystemExit(response.text)',
    saves === undefined ? 'print(response.json())' : `open("${saves}", "wb").write(response.content)`,
  ];
  return { label: 'Python', language: 'python', code: lines.join('\n') };
}

function pythonBodyLines(body: SampleCall['body']): string[] {
  if (body === undefined) return [];
  if ('file' in body) return [`    data=open("${body.file}", "rb"),`];
  if ('json' in body) return [`    json=${literalOf(body.json, PYTHON_SYNTAX, '    ')},`];
  const files = Object.entries(body.parts).map(([name, file]) => `"${name}": open("${file}", "rb")`);
  return [
    `    files={${files.join(', ')}},`,
    ...(body.texts === undefined ? [] : [`    data=${literalOf(body.texts, PYTHON_SYNTAX, '    ')},`]),
  ];
}

/** The parameters of a query as texts. A list or an object becomes JSON. */
function queryTexts(query: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  );
}

/** How a language writes JSON values: its words for true, false and null, and its expression for the variable ASSET. */
interface LiteralSyntax {
  words: Readonly<Record<string, string>>;
  asset: string;
  /** Whether field names are written without quotes where possible. */
  hasPlainNames: boolean;
}

const SCRIPT_SYNTAX: LiteralSyntax = { words: {}, asset: 'process.env.ASSET', hasPlainNames: true };
const PYTHON_SYNTAX: LiteralSyntax = {
  words: { true: 'True', false: 'False', null: 'None' },
  asset: 'os.environ["ASSET"]',
  hasPlainNames: false,
};
const MAX_LITERAL_LINE_CHARACTERS = 64;

/** A JSON value in the syntax of a language: on one line if it is short, or else with one entry per line. */
function literalOf(value: unknown, syntax: LiteralSyntax, indent = ''): string {
  const inner = `${indent}${syntax.hasPlainNames ? '  ' : '    '}`;
  if (typeof value !== 'object' || value === null) {
    const text = JSON.stringify(value);
    if (WHOLE_PLACEHOLDER_PATTERN.test(text)) return syntax.asset;
    if (typeof value !== 'string') return syntax.words[text] ?? text;
    return syntax.hasPlainNames && !/['\\\n]/.test(value) ? `'${value}'` : text;
  }
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((element) => literalOf(element, syntax, inner))
    : Object.entries(value).map(
        ([name, member]) => `${fieldNameOf(name, syntax)}: ${literalOf(member, syntax, inner)}`,
      );
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const pad = isList || !syntax.hasPlainNames || entries.length === 0 ? '' : ' ';
  const line = `${open}${pad}${entries.join(', ')}${pad}${close}`;
  if (line.length + indent.length <= MAX_LITERAL_LINE_CHARACTERS && !line.includes('\n')) return line;
  return `${open}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}${close}`;
}

const WHOLE_PLACEHOLDER_PATTERN = new RegExp(`^${ASSET_PLACEHOLDER_PATTERN.source}$`);

function fieldNameOf(name: string, { hasPlainNames }: LiteralSyntax): string {
  return hasPlainNames && /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
