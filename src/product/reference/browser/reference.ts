import { enableSearch } from './search.ts';
import { enableTrialForms } from './trial.ts';

/** The key in local storage for the language that the reader chose last. */
const LANGUAGE_STORAGE_KEY = 'darkroom-language';
const COPIED_LABEL_MS = 1_500;

// Pages also work without scripts. The scripts add the choice of a language, copy buttons, the search and the forms.
enableSampleBars();
enableSearch();
enableTrialForms();
scrollMenuToCurrentPage();

/** Scrolls the menu to the page that is shown. */
function scrollMenuToCurrentPage(): void {
  const menu = document.querySelector('#menu');
  const current = menu?.querySelector<HTMLElement>('[aria-current]');
  if (menu != null && current != null) menu.scrollTop = current.offsetTop - menu.clientHeight / 2;
}

/**
 * Adds copy buttons to the samples. When the reader chooses a language for one sample, all samples switch to it, also
 * on later pages.
 */
function enableSampleBars(): void {
  const bars = document.querySelectorAll<HTMLElement>('.samples > .bar');
  for (const bar of bars) {
    bar.addEventListener('change', ({ target }) => {
      const label = (target as HTMLInputElement).value;
      selectLanguage(label);
      storeLanguage(label);
    });
    bar.append(createCopyButton(bar));
  }
  selectLanguage(storedLanguage());
}

function selectLanguage(label: string): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('.samples > .bar > input'))
    if (input.value === label) input.checked = true;
}

function createCopyButton(bar: HTMLElement): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const chosen = [...bar.querySelectorAll('input')].findIndex(({ checked }) => checked);
    // A sample in a single language has no radio buttons. Its only text is copied.
    const text = bar.parentElement?.querySelectorAll('pre')[Math.max(chosen, 0)]?.textContent ?? '';
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), COPIED_LABEL_MS);
  });
  return button;
}

/** Stores the chosen language. If the browser refuses storage, the choice lasts until the page is left. */
function storeLanguage(label: string): void {
  try {
    localStorage.setItem(LANGUAGE_STORAGE_KEY, label);
  } catch {}
}

function storedLanguage(): string {
  try {
    return localStorage.getItem(LANGUAGE_STORAGE_KEY) ?? '';
  } catch {
    return '';
  }
}
