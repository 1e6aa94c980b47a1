import { html, useEffect, useLayoutEffect, useRef, useState } from '../html.ts';
import { ErrorBox } from './page.ts';
import type { LivePlot, PlotProps, Series } from './plot-drawing.ts';
import { countText, timeText } from './values.ts';

const DEFAULT_PLOT_HEIGHT_PX = 180;

/** A plot of values over time. The pointer and the arrow keys select a time; the values at this time are shown. */
export function Plot(props: PlotProps) {
  const { label, times, series, height = DEFAULT_PLOT_HEIGHT_PX, textOf = countText } = props;
  const box = useRef<HTMLDivElement>(null);
  const drawing = useRef<LivePlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [at, setAt] = useState<number | null>(null);
  const [error, setError] = useState<unknown>();

  useEffect(() => {
    let isGone = false;
    import('./plot-drawing.ts').then(({ drawPlot: draw }) => {
      if (isGone || box.current === null) return;
      drawing.current = draw(box.current, { ...latest.current, height }, setAt);
    }, setError);
    return () => {
      isGone = true;
      drawing.current?.end();
      drawing.current = null;
    };
  }, [height, series.map((one) => one.label).join('\n'), props.isStacked]);
  useLayoutEffect(() => drawing.current?.update(props), [times, series, props.marks]);

  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setAt((last) => Math.max(0, Math.min(times.length - 1, (last ?? times.length - 1) + step)));
  };
  const shown = at ?? times.length - 1;
  const when = times[shown];
  return html`<figure class="plot">
    <figcaption>
      <strong>${label}</strong>
      <span class="quiet">${at !== null && when !== undefined && timeText(when * 1000)}</span>
      <ul class="legend">
        ${series.map((one, index) => {
          const value = one.values[shown];
          return html`<li key=${one.label} class=${`series-${index % 6}`}>
            ${one.label} <b>${value === null || value === undefined ? '–' : textOf(value)}</b>
          </li>`;
        })}
      </ul>
    </figcaption>
    <div
      ref=${box}
      class="plot-box"
      tabindex="0"
      role="img"
      aria-label=${`${label}: ${series.map(seriesSummarizer(textOf)).join('; ')}`}
      style=${{ height: `${height}px` }}
      onKeyDown=${move}
      onBlur=${() => setAt(null)}
    ></div>
    <${ErrorBox} error=${error} />
  </figure>`;
}

/** Returns a function that describes a series in words, for users who cannot see the plot. */
function seriesSummarizer(textOf: (value: number) => string) {
  return ({ label, values }: Series): string => {
    const known = values.filter((value) => value !== null);
    const last = known.at(-1);
    if (last === undefined) return `${label} has no values`;
    const [least, most] = [Math.min(...known), Math.max(...known)];
    return `${label} is ${textOf(last)}, between ${textOf(least)} and ${textOf(most)}`;
  };
}
