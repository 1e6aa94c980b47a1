import { markdownOf } from '../../platform/pages/markdown.ts';
import { usualWordsOf } from '../catalogue/usual-words.ts';
import type { IndexedPage } from './indexed-page.ts';
import { addressOf } from './layout.ts';
import type { Library } from './library.ts';

const SAMPLE = /```[\s\S]*?```/g;
const WORD = /[\p{L}\p{N}_]{2,}/gu;

/**
 * Every page with each of its words once, without its samples. Pages of ops include the names that other services use.
 */
export function searchIndex(library: Library): IndexedPage[] {
  return library.list().map(({ path, page }) => {
    const { title, lead } = page;
    const written = markdownOf(page).replaceAll(SAMPLE, '').toLowerCase();
    const text = [written, ...usualWordsOf(path.replace('ops/', ''))].join(' ');
    const shown = new Set(`${title} ${lead}`.toLowerCase().match(WORD));
    const words = new Set(text.match(WORD)?.filter((word) => !shown.has(word)));
    return [addressOf(path), title, lead.replaceAll('`', ''), [...words].join(' ')];
  });
}
