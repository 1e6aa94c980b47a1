import type { PageSample } from './page.ts';

type Language = PageSample['language'];

const STRING_TOKEN = String.raw`(?<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\x60(?:\\.|[^\x60\\])*\x60)`;
const NUMBER_TOKEN = String.raw`(?<number>(?<![\w.-])-?\d+(?:\.\d+)?\b)`;
const HASH_COMMENT_TOKEN = String.raw`(?<comment>(?<=^|\s)#[^\n]*)`;
const SLASH_COMMENT_TOKEN = String.raw`(?<comment>(?<=^|\s)//[^\n]*)`;

/** Matches a keyword of a language. The keywords in `words` are separated by spaces. */
const wordToken = (words: string) => String.raw`(?<word>(?<![\w$.-])(?:${words.replaceAll(' ', '|')})\b)`;
/** Matches the tokens of a programming language. */
const programPattern = (comment: string, words: string) =>
  tokenPattern(comment, STRING_TOKEN, NUMBER_TOKEN, wordToken(words));
const SCRIPT_PATTERN = programPattern(
  SLASH_COMMENT_TOKEN,
  'import from const let await async new if else throw return for of function true false null undefined',
);

/**
 * The tokens of each language that have a colour, as one expression per language. The first alternative that matches
 * decides the kind of a token.
 */
const LANGUAGE_TOKEN_PATTERNS: Readonly<Record<Language, RegExp>> = {
  sh: tokenPattern(
    HASH_COMMENT_TOKEN,
    STRING_TOKEN,
    wordToken('curl jq npm npx node docker darkroom export'),
  ),
  ts: SCRIPT_PATTERN,
  js: SCRIPT_PATTERN,
  python: programPattern(
    HASH_COMMENT_TOKEN,
    'import from with as for in if not or raise open True False None',
  ),
  php: programPattern(SLASH_COMMENT_TOKEN, 'function fn return echo true false'),
  go: programPattern(SLASH_COMMENT_TOKEN, 'package import const var func for range return nil'),
  ruby: programPattern(HASH_COMMENT_TOKEN, 'require def do end puts nil'),
  nginx: tokenPattern(HASH_COMMENT_TOKEN, NUMBER_TOKEN, wordToken('location on off')),
  json: tokenPattern(
    String.raw`(?<key>"(?:\\.|[^"\\])*"(?=\s*:))`,
    STRING_TOKEN,
    NUMBER_TOKEN,
    wordToken('true false null'),
  ),
  html: tokenPattern(String.raw`(?<word></?[a-z][\w-]*|>)`, STRING_TOKEN),
};

function tokenPattern(...parts: readonly string[]): RegExp {
  return new RegExp(parts.join('|'), 'gm');
}

/** Code as HTML, with its strings, numbers, words and comments in separate elements. */
export function highlightedHtml(code: string, language: Language): string {
  let html = '';
  let end = 0;
  for (const match of code.matchAll(LANGUAGE_TOKEN_PATTERNS[language])) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    html += `${escapeHtmlText(code.slice(end, match.index))}<span class="${kind}">${escapeHtmlText(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtmlText(code.slice(end));
}

const HTML_ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Escapes text for an element, or for an attribute in double quotes. */
export function escapeHtmlText(text: string): string {
  return text.replace(/[&<>"]/g, (character) => HTML_ENTITIES[character] ?? character);
}
