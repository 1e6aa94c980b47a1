import type { IndexedPage } from '../indexed-page.ts';

const MAX_SHOWN_PAGES = 12;

/** The search field at the top of the page. The index is fetched when the field first gets the focus. */
export function enableSearch(): void {
  const input = document.querySelector<HTMLInputElement>('search input');
  const list = document.querySelector<HTMLElement>('#found');
  if (input === null || list === null) return;
  let index: Promise<IndexedPage[]> | undefined;
  const load = () => {
    index ??= fetch('/docs/search.json').then((response) => response.json());
    return index;
  };

  async function show(): Promise<void> {
    const query = input?.value ?? '';
    const pages = await load();
    // The reader may have typed more while the index was loading.
    if (input?.value === query) showResults(pages, query);
  }

  function showResults(pages: readonly IndexedPage[], query: string): void {
    const found = findPages(pages, query);
    list?.replaceChildren(...found.map(resultItem));
    if (query.trim() !== '' && found.length === 0) list?.append(noResultItem());
    if (list !== null) list.hidden = query.trim() === '';
  }

  input.disabled = false;
  input.addEventListener('focus', load);
  input.addEventListener('input', show);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') list.hidden = true;
    if (event.key === '/' && !isTyping(event)) {
      event.preventDefault();
      input.focus();
    }
  });
  input.parentElement?.addEventListener('keydown', (event) => moveThroughResults(event, input, list));
  document.addEventListener('click', ({ target }) => {
    if (!input.parentElement?.contains(target as globalThis.Node)) list.hidden = true;
  });
}

/** Moves through the results with the arrow keys. Enter in the field opens the first result. */
function moveThroughResults(event: KeyboardEvent, input: HTMLInputElement, list: HTMLElement): void {
  const links = [...list.querySelectorAll('a')];
  const focused = links.indexOf(document.activeElement as HTMLAnchorElement);
  if (event.key === 'Enter' && focused === -1) links[0]?.click();
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  const next = focused + (event.key === 'ArrowDown' ? 1 : -1);
  (next < 0 ? input : links[Math.min(next, links.length - 1)])?.focus();
}

/** The pages that contain every word of the query, the best first. */
function findPages(pages: readonly IndexedPage[], query: string): IndexedPage[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length === 0) return [];
  return pages
    .map((page) => ({ page, score: scoreOf(page, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, MAX_SHOWN_PAGES)
    .map(({ page }) => page);
}

/**
 * The score of a page for a search; 0 if any of the words is missing. A word counts most in the title, less in the
 * first sentence, and least elsewhere.
 */
function scoreOf([, title, lead, text]: IndexedPage, words: readonly string[]): number {
  const name = title.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const score =
      (name === word ? 60 : 0) +
      (name.startsWith(word) ? 20 : 0) +
      (name.includes(word) ? 10 : 0) +
      (lead.toLowerCase().includes(word) ? 4 : 0) +
      (` ${text}`.includes(` ${word}`) ? 1 : 0);
    if (score === 0) return 0;
    sum += score;
  }
  return sum;
}

function resultItem([address, title, lead]: IndexedPage): HTMLElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  const name = document.createElement('strong');
  const sentence = document.createElement('span');
  link.href = address;
  name.textContent = title;
  sentence.textContent = lead;
  link.append(name, sentence);
  item.append(link);
  return item;
}

function noResultItem(): HTMLElement {
  const item = document.createElement('li');
  item.className = 'none';
  item.textContent = 'No page has these words.';
  return item;
}

function isTyping({ target }: Event): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select');
}
