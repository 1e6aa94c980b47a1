import type { DocumentationPage } from '../../../platform/pages/page.ts';
import { parsePage } from '../../../platform/pages/parse.ts';
import { readMarkdownFile } from '../markdown-files.ts';

/**
 * The guides by their names in addresses, in the order of reading. All commands of a guide can be run one after the
 * other, once the variables KEY, BASE and those that the guide mentions are set.
 */
const GUIDE_NAMES = [
  ...['first-picture', 'several-results', 'templates', 'presets', 'delivery'],
  ...['jobs', 'webhooks', 'models', 'agents', 'cluster'],
];

export const GUIDE_PAGES: Readonly<Record<string, DocumentationPage>> = Object.fromEntries(
  GUIDE_NAMES.map((name) => [name, parsePage(readMarkdownFile(`guides/${name}.md`))]),
);
