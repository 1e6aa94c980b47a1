import { html } from '../html.ts';
import { msText } from '../parts/values.ts';
import type { CaseFigures } from './reports.ts';

/** One line of the plot. */
interface Curve {
  label: string;
  points: NonNullable<CaseFigures['curve']>;
}

const [WIDTH, HEIGHT] = [720, 300];
const PLOT_MARGIN = { left: 56, right: 12, top: 12, bottom: 28 };
/** The labels of the horizontal axis, each at the share of responses that were at least as fast. */
const PERCENTILE_TICKS: readonly [share: number, text: string][] = [
  [0, 'best'],
  [0.5, 'p50'],
  [0.9, 'p90'],
  [0.99, 'p99'],
  [0.999, 'p99.9'],
];
const MAX_NINES = 3.3;
const GRID_LINE_COUNT = 4;

/**
 * Latency curves: the latency at each percentile. The horizontal axis gives the slowest responses more room: 90, 99 and
 * 99.9 % are equally far apart.
 */
export function Curves({ curves }: { curves: readonly Curve[] }) {
  const shown = curves.map(({ label, points }) => ({
    label,
    points: points.filter(([share]) => ninesOf(share) <= MAX_NINES),
  }));
  const most = Math.max(1, ...shown.flatMap(({ points }) => points.map(([, ms]) => ms)));
  const top = axisTopFor(most);
  const x = (share: number) =>
    PLOT_MARGIN.left + (ninesOf(share) / MAX_NINES) * (WIDTH - PLOT_MARGIN.left - PLOT_MARGIN.right);
  const y = (ms: number) =>
    HEIGHT - PLOT_MARGIN.bottom - (ms / top) * (HEIGHT - PLOT_MARGIN.top - PLOT_MARGIN.bottom);
  const pathOf = (points: Curve['points']) =>
    points
      .map(([share, ms], index) => `${index === 0 ? 'M' : 'L'}${x(share).toFixed(1)} ${y(ms).toFixed(1)}`)
      .join('');
  const levels = Array.from({ length: GRID_LINE_COUNT + 1 }, (_, index) => (top * index) / GRID_LINE_COUNT);
  return html`<figure class="plot">
    <figcaption>
      <strong>Latency by percentile</strong>
      <ul class="legend">
        ${shown.map(({ label }, index) => html`<li key=${label} class=${`series-${index % 6}`}>${label}</li>`)}
      </ul>
    </figcaption>
    <svg class="curves" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${shown.map(curveSummary).join('; ')}>
      ${levels.map(
        (ms) => html`<g key=${ms}>
          <line x1=${PLOT_MARGIN.left} x2=${WIDTH - PLOT_MARGIN.right} y1=${y(ms)} y2=${y(ms)} />
          <text x=${PLOT_MARGIN.left - 8} y=${y(ms) + 4} text-anchor="end">${ms === 0 ? '0' : msText(ms)}</text>
        </g>`,
      )}
      ${PERCENTILE_TICKS.map(
        ([share, text]) =>
          html`<text key=${text} x=${x(share)} y=${HEIGHT - 8} text-anchor=${share === 0 ? 'start' : 'middle'}>${text}</text>`,
      )}
      ${shown.map(({ label, points }, index) => html`<path key=${label} class=${`series-${index % 6}`} d=${pathOf(points)} />`)}
    </svg>
  </figure>`;
}

/** The position on the horizontal axis: 0 for the fastest response, 1 for 90 %, 2 for 99 %. */
function ninesOf(share: number): number {
  return share >= 1 ? Number.POSITIVE_INFINITY : -Math.log10(1 - share);
}

function axisTopFor(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [1, 2, 4, 6, 8, 10].find((factor) => factor * power >= most) ?? 10;
  return step * power;
}

function curveSummary({ label, points }: Curve): string {
  const at = (share: number) => points.findLast(([one]) => one <= share)?.[1];
  const figures = [0.5, 0.99].flatMap((share) => {
    const ms = at(share);
    return ms === undefined ? [] : [`p${share * 100} ${msText(ms)}`];
  });
  return `${label}: ${figures.join(', ')}`;
}
