import type {
  DocumentationPage,
  DocumentedField,
  FieldsBlock,
  PageBlock,
  PagePicture,
  Prose,
} from './page.ts';

interface MarkdownOptions {
  /**
   * Whether the page is shortened, for a text that contains many pages. A short page has only the first language of
   * each sample, and only the heading of collapsed fields.
   */
  isShort?: boolean;
}

/** A page as Markdown. Its links lead to Markdown as well. */
export function pageMarkdown(
  { title, lead, blocks }: DocumentationPage,
  options: MarkdownOptions = {},
): string {
  const parts = [`# ${title}`, lead, ...blocks.map((block) => blockMarkdown(block, options))];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function blockMarkdown(block: PageBlock, { isShort = false }: MarkdownOptions): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${block.text}`;
    case 'paragraph':
      return proseMarkdown(block.text);
    case 'list':
      return block.items
        .map((item, index) => `${block.isNumbered ? `${index + 1}.` : '-'} ${proseMarkdown(item)}`)
        .join('\n');
    case 'table':
      return [block.head, block.head.map(() => '---'), ...block.rows.map((row) => row.map(proseMarkdown))]
        .map((cells) => `| ${cells.join(' | ')} |`)
        .join('\n');
    case 'fields':
      return fieldsMarkdown(block, isShort);
    case 'samples':
      return (isShort ? block.samples.slice(0, 1) : block.samples)
        .map(({ language, code }) => `\`\`\`${language}\n${code}\n\`\`\``)
        .join('\n\n');
    case 'pictures':
      return isShort ? '' : block.pictures.map(pictureMarkdown).join('\n');
    case 'cards':
      return block.cards
        .map(({ title, text, to }) => `- [${title}](${markdownPath(to)}): ${text}`)
        .join('\n');
    case 'trial':
      return '';
  }
}

function fieldsMarkdown({ summary, fields }: FieldsBlock, isShort: boolean): string {
  if (summary === undefined) return fields.map(fieldMarkdown).join('\n');
  if (isShort) return `And the ${summary.toLowerCase()}.`;
  return [`${summary}:`, ...fields.map(fieldMarkdown)].join('\n');
}

function fieldMarkdown({ name, takes, note, fallback, description }: DocumentedField): string {
  const otherwise = fallback === undefined ? '' : `; default ${fallback}`;
  return `- ${name} (${takes}${otherwise}${note === undefined ? '' : `, ${note}`}) ${description}`.trim();
}

function pictureMarkdown({ label, address, alt }: PagePicture): string {
  return `![${alt}](${address}) ${label}`;
}

function proseMarkdown(text: Prose): string {
  return text
    .map((part) => (typeof part === 'string' ? part : `[${part.text}](${markdownPath(part.to)})`))
    .join('');
}

/** The address of a page as Markdown. Any other address is unchanged. */
function markdownPath(to: string): string {
  const [, page, anchor = ''] = /^(\/docs\/[\w/-]+)(#.*)?$/.exec(to) ?? [];
  return page === undefined ? to : `${page}.md${anchor}`;
}
