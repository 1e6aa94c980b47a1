import { startSamples } from './samples.ts';
import { startSearch } from './search.ts';
import { startTrials } from './trial.ts';

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
