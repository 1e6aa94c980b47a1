import type { PageSample } from './page.ts';

type Language = PageSample['language'];

const STRING = String.raw`(?<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\x60(?:\\.|[^\x60\\])*\x60)`;
const NUMBER = String.raw`(?<number>(?<![\w.-])-?\d+(?:\.\d+)?\b)`;
const HASH_COMMENT = String.raw`(?<comment>(?<=^|\s)#[^\n]*)`;
const SLASH_COMMENT = String.raw`(?<comment>(?<=^|\s)//[^\n]*)`;

const words = (...names: readonly string[]) => String.raw`(?<word>(?<![\w$.-])(?:${names.join('|')})\b)`;
const SCRIPT_WORDS = words(
  ...['import', 'from', 'const', 'let', 'await', 'async', 'new', 'if', 'else', 'throw', 'return'],
  ...['for', 'of', 'function', 'true', 'false', 'null', 'undefined'],
);

/** The parts of a language that have a colour, as alternatives of which the first match counts. */
const PATTERNS: Readonly<Record<Language, RegExp>> = {
  sh: pattern(
    HASH_COMMENT,
    STRING,
    words('curl', 'jq', 'npm', 'npx', 'node', 'docker', 'darkroom', 'export'),
  ),
  ts: pattern(SLASH_COMMENT, STRING, NUMBER, SCRIPT_WORDS),
  js: pattern(SLASH_COMMENT, STRING, NUMBER, SCRIPT_WORDS),
  python: pattern(
    HASH_COMMENT,
    STRING,
    NUMBER,
    words(
      'import',
      'from',
      'with',
      'as',
      'for',
      'in',
      'if',
      'not',
      'or',
      'raise',
      'open',
      'True',
      'False',
      'None',
    ),
  ),
  php: pattern(SLASH_COMMENT, STRING, NUMBER, words('function', 'fn', 'return', 'echo', 'true', 'false')),
  go: pattern(
    SLASH_COMMENT,
    STRING,
    NUMBER,
    words('package', 'import', 'const', 'var', 'func', 'for', 'range', 'return', 'nil'),
  ),
  ruby: pattern(HASH_COMMENT, STRING, NUMBER, words('require', 'def', 'do', 'end', 'puts', 'nil')),
  nginx: pattern(HASH_COMMENT, NUMBER, words('location', 'on', 'off')),
  json: pattern(
    String.raw`(?<key>"(?:\\.|[^"\\])*"(?=\s*:))`,
    STRING,
    NUMBER,
    words('true', 'false', 'null'),
  ),
  html: pattern(String.raw`(?<word></?[a-z][\w-]*|>)`, STRING),
};

function pattern(...parts: readonly string[]): RegExp {
  return new RegExp(parts.join('|'), 'gm');
}

/** Code as HTML, with its strings, numbers, words and comments in separate elements. */
export function highlightedHtml(code: string, language: Language): string {
  let html = '';
  let end = 0;
  for (const match of code.matchAll(PATTERNS[language])) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    html += `${escapeHtmlText(code.slice(end, match.index))}<span class="${kind}">${escapeHtmlText(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtmlText(code.slice(end));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Escapes text for an element, or for an attribute in double quotes. */
export function escapeHtmlText(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
