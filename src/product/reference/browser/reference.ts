import { startSamples } from './samples.ts';
import { startSearch } from './search.ts';
import { startTrials } from './trial.ts';

// The pages are whole without scripts: these add the choice of a language, copies, the search and the form.
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
