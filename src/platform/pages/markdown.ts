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
   * For text that contains many pages. Of each call only the first language is written, and of folded fields only their
   * heading.
   */
  isShort?: boolean;
}

/** A page as Markdown. Its links lead to Markdown as well. */
export function pageMarkdown(
  { title, lead, blocks }: DocumentationPage,
  options: MarkdownOptions = {},
): string {
  const parts = [`# ${title}`, lead, ...blocks.map((block) => blockText(block, options))];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function blockText(block: PageBlock, { isShort = false }: MarkdownOptions): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${block.text}`;
    case 'paragraph':
      return proseText(block.text);
    case 'list':
      return block.items
        .map((item, index) => `${block.isNumbered ? `${index + 1}.` : '-'} ${proseText(item)}`)
        .join('\n');
    case 'table':
      return [block.head, block.head.map(() => '---'), ...block.rows.map((row) => row.map(proseText))]
        .map((cells) => `| ${cells.join(' | ')} |`)
        .join('\n');
    case 'fields':
      return fieldsText(block, isShort);
    case 'samples':
      return (isShort ? block.samples.slice(0, 1) : block.samples)
        .map(({ language, code }) => `\`\`\`${language}\n${code}\n\`\`\``)
        .join('\n\n');
    case 'pictures':
      return isShort ? '' : block.pictures.map(pictureText).join('\n');
    case 'cards':
      return block.cards
        .map(({ title, text, to }) => `- [${title}](${markdownPath(to)}): ${text}`)
        .join('\n');
    case 'trial':
      return '';
  }
}

function fieldsText({ folded, fields }: FieldsBlock, isShort: boolean): string {
  if (folded === undefined) return fields.map(fieldLine).join('\n');
  return isShort ? `And the ${folded.toLowerCase()}.` : [`${folded}:`, ...fields.map(fieldLine)].join('\n');
}

function fieldLine({ name, takes, note, fallback, description }: DocumentedField): string {
  const otherwise = fallback === undefined ? '' : `; default ${fallback}`;
  return `- ${name} (${takes}${otherwise}${note === undefined ? '' : `, ${note}`}) ${description}`.trim();
}

function pictureText({ label, address, alt }: PagePicture): string {
  return `![${alt}](${address}) ${label}`;
}

function proseText(text: Prose): string {
  return text
    .map((part) => (typeof part === 'string' ? part : `[${part.text}](${markdownPath(part.to)})`))
    .join('');
}

/** The address of a page as Markdown. Any other address is unchanged. */
function markdownPath(to: string): string {
  const [, page, anchor = ''] = /^(\/docs\/[\w/-]+)(#.*)?$/.exec(to) ?? [];
  return page === undefined ? to : `${page}.md${anchor}`;
}
