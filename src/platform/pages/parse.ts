import {
  type DocumentationPage,
  headingBlock,
  LANGUAGE_LABELS,
  type PageBlock,
  type PageSample,
  type Prose,
  pageLink,
  paragraphBlock,
  samplesBlock,
  tableBlock,
} from './page.ts';

/** Parses a page: a title, a sentence about the subject, and blocks, with an empty line between two of them. */
export function parsePage(markdown: string): DocumentationPage {
  const [title = '', lead = '', ...blocks] = markdown.split('\n\n');
  return { title: title.replace('# ', ''), lead: joinLines(lead), blocks: parseBlocks(blocks.join('\n\n')) };
}

/** Matches a sample between fences, or the lines of another block. */
const BLOCK_PATTERN = /^```(?<language>\w+) ?(?<label>.*)\n(?<code>[\s\S]*?)\n```$|(?:^(?!```).+\n?)+/gm;

/**
 * Parses blocks: headings, paragraphs, lists, tables, and samples between fences. The words after the language of a
 * sample are its label. Samples that follow each other are one block, of which readers see one sample at a time.
 */
export function parseBlocks(markdown: string): PageBlock[] {
  const blocks: PageBlock[] = [];
  for (const { 0: lines, groups = {} } of markdown.matchAll(BLOCK_PATTERN)) {
    if (groups.code === undefined) {
      blocks.push(parseText(lines.trimEnd()));
      continue;
    }
    const language = groups.language as PageSample['language'];
    const sample = { label: groups.label || LANGUAGE_LABELS[language], language, code: groups.code };
    const last = blocks.at(-1);
    const before = last?.kind === 'samples' ? (blocks.pop() as typeof last).samples : [];
    blocks.push(samplesBlock(...before, sample));
  }
  return blocks;
}

const LIST_ITEM_START_PATTERN = /^(?:- |\d+\. )/m;

function parseText(lines: string): PageBlock {
  const [, signs, heading] = /^(##|###) (.+)$/.exec(lines) ?? [];
  if (heading !== undefined) return headingBlock(heading, signs === '##' ? 2 : 3);
  if (lines.startsWith('| ')) return parseTable(lines);
  if (lines.search(LIST_ITEM_START_PATTERN) !== 0) return paragraphBlock(...parseProse(lines));
  const [, ...items] = lines.split(LIST_ITEM_START_PATTERN);
  return { kind: 'list', isNumbered: /^\d/.test(lines), items: items.map(parseProse) };
}

function parseTable(lines: string): PageBlock {
  const [head = [], _rule, ...rows] = lines.split('\n').map((line) => line.slice(2, -2).split(' | '));
  return tableBlock(
    head,
    rows.map((row) => row.map(parseProse)),
  );
}

const LINK_PATTERN = /\[([^\]]+)\]\(([^)]+)\)/;

function parseProse(lines: string): Prose {
  // The split also yields the text and the address of each link.
  const parts = joinLines(lines).split(LINK_PATTERN);
  return parts.flatMap((part, index): Prose => {
    if (index % 3 === 0) return part === '' ? [] : [part];
    return index % 3 === 1 ? [pageLink(part, parts[index + 1] ?? '')] : [];
  });
}

function joinLines(lines: string): string {
  return lines.trim().replaceAll(/\s*\n\s*/g, ' ');
}
