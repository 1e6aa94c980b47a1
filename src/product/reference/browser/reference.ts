import { startSearch } from './search.ts';
import { startTrials } from './trial.ts';

/** The key in local storage for the language that a reader chose last. */
const CHOICE = 'darkroom-language';
const SHOWN_MS = 1_500;

// Pages work without scripts. These scripts add the choice of a language, copy buttons, the search and the form.
startSamples();
startSearch();
startTrials();
showCurrent();

/** Scrolls the menu to the page that is shown. */
function showCurrent(): void {
  const menu = document.querySelector('#menu');
  const current = menu?.querySelector<HTMLElement>('[aria-current]');
  if (menu != null && current != null) menu.scrollTop = current.offsetTop - menu.clientHeight / 2;
}

/**
 * Shows all samples in the language that the reader chooses in one of them, also on later pages, and adds copy buttons.
 */
function startSamples(): void {
  const bars = document.querySelectorAll<HTMLElement>('.samples > .bar');
  for (const bar of bars) {
    bar.addEventListener('change', ({ target }) => {
      const label = (target as HTMLInputElement).value;
      choose(label);
      keep(label);
    });
    bar.append(copyButton(bar));
  }
  choose(kept());
}

function choose(label: string): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('.samples > .bar > input'))
    if (input.value === label) input.checked = true;
}

function copyButton(bar: HTMLElement): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const chosen = [...bar.querySelectorAll('input')].findIndex(({ checked }) => checked);
    // A sample of one language has no choice.
    const text = bar.parentElement?.querySelectorAll('pre')[Math.max(chosen, 0)]?.textContent ?? '';
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), SHOWN_MS);
  });
  return button;
}

/** Stores the choice. Browsers may refuse storage: the choice then lasts as long as the page. */
function keep(label: string): void {
  try {
    localStorage.setItem(CHOICE, label);
  } catch {}
}

function kept(): string {
  try {
    return localStorage.getItem(CHOICE) ?? '';
  } catch {
    return '';
  }
}
