import { pageMarkdown } from '../../platform/pages/markdown.ts';
import { otherNamesOfOp } from '../catalogue/usual-words.ts';
import type { IndexedPage } from './indexed-page.ts';
import { documentationAddress } from './layout.ts';
import type { DocumentationLibrary } from './library.ts';

const SAMPLE = /```[\s\S]*?```/g;
const WORD = /[\p{L}\p{N}_]{2,}/gu;

/**
 * Every page with each of its words once, without its samples. Pages of ops include the names that other services use.
 */
export function searchIndex(library: DocumentationLibrary): IndexedPage[] {
  return library.list().map(({ path, page }) => {
    const { title, lead } = page;
    const written = pageMarkdown(page).replaceAll(SAMPLE, '').toLowerCase();
    const text = [written, ...otherNamesOfOp(path.replace('ops/', ''))].join(' ');
    const shown = new Set(`${title} ${lead}`.toLowerCase().match(WORD));
    const words = new Set(text.match(WORD)?.filter((word) => !shown.has(word)));
    return [documentationAddress(path), title, lead.replaceAll('`', ''), [...words].join(' ')];
  });
}
