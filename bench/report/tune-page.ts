import type { SideDifference } from '../compare/interval.ts';
import type { CaseMeans, Weights } from '../tune/goodness.ts';
import type { CandidateTrial, Recommendation } from '../tune/search.ts';
import { type Candidate, keyOf } from '../tune/settings.ts';
import type { MeasuredHost } from './load-report.ts';
import { escapeHtml, htmlTable, staticPage } from './pages.ts';

/** The result of a tune run, as written to JSON. */
export interface TuneResult extends Recommendation {
  at: string;
  seconds: number;
  host: MeasuredHost;
  /** The settings of the file and the environment. */
  current: Candidate;
  weights: Weights;
  /** Descriptions of the cases by name. */
  cases: Record<string, string>;
}

/** Largest ratio on the page; larger ones are drawn at its edge. */
const WIDEST_PERCENT = 2;

/**
 * The trials and the recommendation as one HTML page that needs no network. Each trial is a dot with its interval,
 * beside a line that marks its base. Its figures are answers per second and milliseconds.
 */
export function tunePage(result: TuneResult): string {
  const { host } = result;
  const machine = `${host.cores} cores (${host.cpu}), ${host.memoryMegabytes} MB, ${host.platform}, Node ${host.node}, Darkroom ${host.darkroom}, sharp ${host.sharp}`;
  const now = Object.keys(result.current).length === 0 ? 'the default' : keyOf(result.current);
  const body = `<h1>tune</h1>
<p class="verdict">${escapeHtml(result.reason)}</p>
<p class="note">${escapeHtml(result.at)} · ${result.seconds} s · ${escapeHtml(machine)}</p>
<p class="note">Set when it began: ${escapeHtml(now)}</p>
<h2>Trials</h2>
<p class="note">Goodness is the weighted mean of the ratios of right answers per second, reduced by a longer p99; above 1 is better. CPU is the ratio of
CPU time per call; below 1 is cheaper. Intervals of 95 %; the line is the other side.</p>
${htmlTable(
  ['settings', 'goodness', 'CPU', `0 to ${WIDEST_PERCENT}`, 'against', 'rounds'],
  result.trials.map((trial) => [
    escapeHtml(keyOf(trial.candidate)),
    intervalText(trial.goodness),
    intervalText(trial.cpu),
    intervalPlot(trial.goodness),
    escapeHtml(keyOf(trial.base)),
    String(trial.rounds),
  ]),
)}
<h2>Cases</h2>
${htmlTable(
  ['case', 'weight', 'what is sent'],
  Object.entries(result.cases).map(([name, about]) => [
    escapeHtml(name),
    String(result.weights[name] ?? 0),
    escapeHtml(about),
  ]),
)}
<h2>Figures of each trial</h2>
<p class="note">Means of all rounds, the other side first: right answers per second, latencies in ms, CPU time of the whole instance in ms per call.</p>
${result.trials.map(trialDetails).join('\n')}`;
  return staticPage({ title: `tune ${result.at}`, body, report: result });
}

function trialDetails(trial: CandidateTrial): string {
  const rows = trial.figures.map((one) => [
    escapeHtml(one.stage),
    escapeHtml(one.case),
    pairText(one.perSecond),
    pairText(one.p50),
    pairText(one.p99),
    pairText(one.cpuMsPerCall),
  ]);
  const head = ['stage', 'case', 'requests/s', 'p50 ms', 'p99 ms', 'CPU ms a call'];
  return `<details><summary>${escapeHtml(`${keyOf(trial.candidate)}, ${trial.rounds} rounds`)}</summary>${htmlTable(head, rows)}</details>`;
}

function pairText([a, b]: CaseMeans['p50']): string {
  return `${a ?? 'none'} → ${b ?? 'none'}`;
}

function intervalText(difference: SideDifference | null): string {
  if (difference === null) return 'none';
  const { ratio, low, high } = difference;
  return `${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}

function intervalPlot(difference: SideDifference | null): string {
  if (difference === null) return '';
  const at = (ratio: number) => (Math.min(WIDEST_PERCENT, Math.max(0, ratio)) / WIDEST_PERCENT) * 300;
  const { ratio, low, high } = difference;
  return `<svg viewBox="0 0 300 16" preserveAspectRatio="none" role="img" aria-label="${ratio.toFixed(3)}"><line x1="${at(1)}" x2="${at(1)}" y1="0" y2="16" stroke="currentColor" opacity="0.4"/><line x1="${at(low)}" x2="${at(high)}" y1="8" y2="8" stroke="var(--accent)" stroke-width="2"/><circle cx="${at(ratio)}" cy="8" r="4" fill="var(--accent)"/></svg>`;
}
