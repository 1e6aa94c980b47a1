import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyOf } from '../tune/candidates.ts';
import type { Outcome, Trial } from '../tune/search.ts';
import { escaped } from './escaped.ts';

/** Largest ratio on the page; larger ones are drawn at its edge. */
const WIDEST = 2;

/**
 * Trials and recommendation as one HTML page that needs no network: each trial is a dot with its interval beside the
 * default's line.
 */
export function tunePage(result: Outcome & { at: string; seconds: number }): string {
  const css = readFileSync(join(import.meta.dirname, 'page.css'), 'utf8');
  const rows = result.trials.map(
    (trial) =>
      `<tr><td>${escaped(nameOf(trial))}</td><td>${trial.rounds}</td><td>${figure(trial)}</td><td>${plot(trial)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>tune ${escaped(result.at)}</title>
<style>${css}</style>
<main>
<h1>tune</h1>
<p>${escaped(result.reason)}</p>
<p class="note">${escaped(result.at)} · ${result.seconds} s · ratios over the default, with intervals of 95 %; the line is the default</p>
<div class="scroll"><table>
<thead><tr><th>settings</th><th>rounds</th><th>of the default</th><th>0 to ${WIDEST}</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table></div>
</main>
<script type="application/json" id="report">${JSON.stringify(result).replaceAll('<', '\\u003c')}</script>
</html>
`;
}

function nameOf({ candidate }: Trial): string {
  return Object.keys(candidate).length === 0 ? 'the default beside itself' : keyOf(candidate);
}

function figure({ difference }: Trial): string {
  if (difference === null) return 'none';
  const { ratio, low, high } = difference;
  return `${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}

function plot({ difference }: Trial): string {
  if (difference === null) return '';
  const at = (ratio: number) => (Math.min(WIDEST, Math.max(0, ratio)) / WIDEST) * 300;
  const { ratio, low, high } = difference;
  return `<svg width="300" height="16" role="img" aria-label="${ratio.toFixed(3)}"><line x1="${at(1)}" x2="${at(1)}" y1="0" y2="16" stroke="currentColor" opacity="0.4"/><line x1="${at(low)}" x2="${at(high)}" y1="8" y2="8" stroke="var(--accent)" stroke-width="2"/><circle cx="${at(ratio)}" cy="8" r="4" fill="var(--accent)"/></svg>`;
}
