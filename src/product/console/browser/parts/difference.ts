import { html } from '../html.ts';

interface DiffLine {
  kind: 'same' | 'gone' | 'new';
  text: string;
}

/** Texts with more pairs of lines are not compared, because that would freeze the page. */
const MAX_PAIRS = 4_000_000;

/** The changes from one text to another, line by line. */
export function TextDifference({ before, after, label }: { before: string; after: string; label: string }) {
  if (before === after) return html`<p class="quiet">Nothing changed in ${label}.</p>`;
  const lines = linesBetween(before.split('\n'), after.split('\n'));
  return html`<pre class="difference" tabindex="0" role="group" aria-label=${`What changed in ${label}`}>${lines.map(
    ({ kind, text }, index) => html`<span key=${index} class=${kind}>${signOf(kind)} ${text}${'\n'}</span>`,
  )}</pre>`;
}

function signOf(kind: DiffLine['kind']): string {
  return { same: ' ', gone: '−', new: '+' }[kind];
}

/** The lines of both texts in one order, by their longest common subsequence. */
function linesBetween(before: readonly string[], after: readonly string[]): DiffLine[] {
  const gone = (text: string): DiffLine => ({ kind: 'gone', text });
  const added = (text: string): DiffLine => ({ kind: 'new', text });
  if (before.length * after.length > MAX_PAIRS) return [...before.map(gone), ...after.map(added)];
  const width = after.length + 1;
  /** For each pair of lines, the length of the common subsequence from there on. */
  const common = new Uint32Array((before.length + 1) * width);
  const at = (one: number, other: number) => common[one * width + other] ?? 0;
  for (let one = before.length - 1; one >= 0; one -= 1)
    for (let other = after.length - 1; other >= 0; other -= 1)
      common[one * width + other] =
        before[one] === after[other]
          ? at(one + 1, other + 1) + 1
          : Math.max(at(one + 1, other), at(one, other + 1));
  const lines: DiffLine[] = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    const [old, fresh] = [before[one], after[other]];
    if (old !== undefined && old === fresh) {
      lines.push({ kind: 'same', text: old });
      one += 1;
      other += 1;
    } else if (old !== undefined && (fresh === undefined || at(one + 1, other) >= at(one, other + 1))) {
      lines.push(gone(old));
      one += 1;
    } else {
      lines.push(added(fresh ?? ''));
      other += 1;
    }
  }
  return lines;
}
