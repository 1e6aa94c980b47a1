import type { PageBlock, PageSample } from '../../platform/pages/page.ts';
import { readableQueryText } from '../catalogue/pages/query-text.ts';

/** A call of the API as a reader makes it, with its address in BASE and its key in KEY. */
export interface SampleCall {
  method: string;
  path: string;
  query?: Readonly<Record<string, unknown>>;
  needsKey: boolean;
  /** How the key is sent; ApiKey by default. */
  scheme?: 'ApiKey' | 'Bearer';
  body?:
    | { json: unknown }
    /** The bytes of a file. */
    | { file: string; type: string }
    /** A form with a file in each part, and text fields. */
    | { parts: Readonly<Record<string, string>>; texts?: Readonly<Record<string, string>> };
  /** The file to which the response is written; absent for JSON, which is printed. */
  saves?: string;
}

/** Matches example asset ids, which a sample replaces by the asset in ASSET. */
const PLACEHOLDER = /"ast_(?:0{24}|1{24})"/g;

/** A call with its defaults. */
type FilledCall = SampleCall & Required<Pick<SampleCall, 'query' | 'scheme'>>;

/** The same call in every language. */
export function samplesOfCall(call: SampleCall): PageSample[] {
  const filled: FilledCall = { query: {}, scheme: 'ApiKey', ...call };
  return [curl(filled), typeScript(filled), python(filled)];
}

/**
 * The same call in every language, as tabs.
 * @param more further forms of the call.
 */
export function callSamplesBlock(call: SampleCall, ...more: readonly PageSample[]): PageBlock {
  return { kind: 'samples', samples: [...samplesOfCall(call), ...more] };
}

function curl({ method, path, query, needsKey, scheme, body, saves }: FilledCall): PageSample {
  const text = readableQueryText(query);
  const url = `"$BASE${path}${text === '' ? '' : `?${text.replaceAll('"', '%22')}`}"`;
  const verb = method === (body === undefined ? 'GET' : 'POST') ? '' : ` -X ${method}`;
  // With -g, curl does not take brackets for a pattern.
  const words = [
    `curl${/[[\]{}]/.test(text) ? ' -g' : ''}${verb} ${url}`,
    ...(needsKey ? [`-H "Authorization: ${scheme} $KEY"`] : []),
    ...curlBody(body),
    ...(saves === undefined ? [] : [`-o ${saves}`]),
  ];
  return { label: 'curl', language: 'sh', code: words.join(' \\\n  ') };
}

function curlBody(body: SampleCall['body']): string[] {
  if (body === undefined) return [];
  if ('file' in body) return [`-H "Content-Type: ${body.type}"`, `--data-binary @${body.file}`];
  if ('parts' in body)
    return [
      ...Object.entries(body.parts).map(([name, file]) => `-F ${name}=@${file}`),
      ...Object.entries(body.texts ?? {}).map(([name, text]) => `-F '${name}=${inShell(text)}'`),
    ];
  const text = inShell(JSON.stringify(body.json)).replaceAll(PLACEHOLDER, `"'$ASSET'"`);
  return ['-H "Content-Type: application/json"', `-d '${text}'`];
}

/** Quotes text for a shell. */
function inShell(text: string): string {
  return text.replaceAll("'", "'\\''");
}

function typeScript({ method, path, query, needsKey, scheme, body, saves }: FilledCall): PageSample {
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
    ...(hasQuery ? [`const query = new URLSearchParams(${literal(asTexts(query), SCRIPT)});`] : []),
    ...(body !== undefined && 'parts' in body ? formLines(body.parts, body.texts) : []),
    `const response = await fetch(\`\${process.env.BASE}${path}${hasQuery ? `?\${query}` : ''}\`, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length === 0 ? [] : [`  headers: { ${headers.join(', ')} },`]),
    ...scriptBody(body),
    '});',
    'if (!response.ok) throw new Error(await response.text());',
    saves === undefined
      ? 'console.log(await response.json());'
      : `writeFileSync('${saves}', Buffer.from(await response.arrayBuffer()));`,
  ];
  return { label: 'TypeScript', language: 'ts', code: lines.join('\n') };
}

function formLines(
  parts: Readonly<Record<string, string>>,
  texts: Readonly<Record<string, string>> = {},
): string[] {
  const files = Object.entries(parts).map(
    ([name, file]) => `form.set('${name}', await openAsBlob('${file}'), '${file}');`,
  );
  const others = Object.entries(texts).map(
    ([name, text]) => `form.set('${name}', ${literal(text, SCRIPT)});`,
  );
  return ['const form = new FormData();', ...files, ...others];
}

function scriptBody(body: SampleCall['body']): string[] {
  if (body === undefined) return [];
  if ('file' in body) return [`  body: readFileSync('${body.file}'),`];
  if ('parts' in body) return ['  body: form,'];
  return [`  body: JSON.stringify(${literal(body.json, SCRIPT, '  ')}),`];
}

function python({ method, path, query, needsKey, scheme, body, saves }: FilledCall): PageSample {
  const headers = [
    ...(needsKey ? [`"Authorization": "${scheme} " + os.environ["KEY"]`] : []),
    ...(body !== undefined && 'file' in body ? [`"Content-Type": "${body.type}"`] : []),
  ];
  const lines = [
    'import os, requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    os.environ["BASE"] + "${path}",`,
    ...(Object.keys(query).length === 0 ? [] : [`    params=${literal(asTexts(query), PYTHON, '    ')},`]),
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(', ')}},`]),
    ...pythonBody(body),
    ')',
    'if not response.ok: raise SystemExit(response.text)',
    saves === undefined ? 'print(response.json())' : `open("${saves}", "wb").write(response.content)`,
  ];
  return { label: 'Python', language: 'python', code: lines.join('\n') };
}

function pythonBody(body: SampleCall['body']): string[] {
  if (body === undefined) return [];
  if ('file' in body) return [`    data=open("${body.file}", "rb"),`];
  if ('json' in body) return [`    json=${literal(body.json, PYTHON, '    ')},`];
  const files = Object.entries(body.parts).map(([name, file]) => `"${name}": open("${file}", "rb")`);
  return [
    `    files={${files.join(', ')}},`,
    ...(body.texts === undefined ? [] : [`    data=${literal(body.texts, PYTHON, '    ')},`]),
  ];
}

/** The parameters of a query as text. Lists and objects become JSON. */
function asTexts(query: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ]),
  );
}

/** How a language writes JSON values that are neither text nor numbers, and the asset in ASSET. */
interface Dialect {
  words: Readonly<Record<string, string>>;
  asset: string;
  /** Whether field names are written without quotes where possible. */
  hasPlainNames: boolean;
}

const SCRIPT: Dialect = { words: {}, asset: 'process.env.ASSET', hasPlainNames: true };
const PYTHON: Dialect = {
  words: { true: 'True', false: 'False', null: 'None' },
  asset: 'os.environ["ASSET"]',
  hasPlainNames: false,
};
const MAX_LINE_CHARACTERS = 64;

/** A JSON value as a literal of a language: in one line if it is short, else with one line per entry. */
function literal(value: unknown, dialect: Dialect, indent = ''): string {
  const inner = `${indent}${dialect.hasPlainNames ? '  ' : '    '}`;
  if (typeof value !== 'object' || value === null) {
    const text = JSON.stringify(value);
    if (PLACEHOLDER_ALONE.test(text)) return dialect.asset;
    if (typeof value !== 'string') return dialect.words[text] ?? text;
    return dialect.hasPlainNames && !/['\\\n]/.test(value) ? `'${value}'` : text;
  }
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((one) => literal(one, dialect, inner))
    : Object.entries(value).map(([name, one]) => `${nameOf(name, dialect)}: ${literal(one, dialect, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const pad = isList || !dialect.hasPlainNames || entries.length === 0 ? '' : ' ';
  const line = `${open}${pad}${entries.join(', ')}${pad}${close}`;
  if (line.length + indent.length <= MAX_LINE_CHARACTERS && !line.includes('\n')) return line;
  return `${open}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}${close}`;
}

const PLACEHOLDER_ALONE = new RegExp(`^${PLACEHOLDER.source}$`);

function nameOf(name: string, { hasPlainNames }: Dialect): string {
  return hasPlainNames && /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
