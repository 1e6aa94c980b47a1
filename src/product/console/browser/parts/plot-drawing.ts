import uPlot from 'uplot';
import { countText } from './values.ts';

export interface Series {
  label: string;
  /** One value for each time; null where the value is unknown. */
  values: readonly (number | null)[];
}

export interface PlotProps {
  /** The subject of the plot, in a few words. */
  label: string;
  /** The times of the values, in epoch seconds, ascending. */
  times: readonly number[];
  series: readonly Series[];
  /** The height in pixels. */
  height?: number;
  /** Formats a value for the axis and the legend. Default: as a plain number. */
  textOf?: (value: number) => string;
  /** Events, which are drawn as vertical lines at their times. */
  marks?: readonly { at: number; text: string }[];
  /** Whether the series are stacked on one another, because they are parts of a whole. */
  isStacked?: boolean;
}

/** A plot that can be updated and removed. */
export interface LivePlot {
  update(props: PlotProps): void;
  end(): void;
}

/**
 * The colours of the series, as names of CSS variables. The legend in parts.css uses the same colours in the same
 * order.
 */
const SERIES_COLOURS = ['--accent', '--code-key', '--good', '--code-number', '--code-word', '--quiet'];
const GRID_COLOUR = '--line';
const AXIS_WIDTH_PX = 62;

/**
 * Draws values over time into an element. The plot is as wide as the element.
 * @param onMoment called with the index of the time under the pointer; null when the pointer leaves.
 */
export function drawPlot(
  box: HTMLElement,
  given: PlotProps & { height: number },
  onMoment: (index: number | null) => void,
): LivePlot {
  let props: PlotProps = given;
  const { height, series, textOf = countText } = given;
  const cssColourOf = (token: string) => getComputedStyle(box).getPropertyValue(token).trim();
  const cssFont = () => `12px ${getComputedStyle(box).fontFamily}`;

  const axis = {
    stroke: () => cssColourOf('--quiet'),
    grid: { stroke: () => cssColourOf(GRID_COLOUR), width: 1 },
    ticks: { stroke: () => cssColourOf(GRID_COLOUR), width: 1, size: 4 },
    font: cssFont(),
  };
  const plot = new uPlot(
    {
      width: Math.max(1, box.clientWidth),
      height,
      legend: { show: false },
      cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
      axes: [
        {
          ...axis,
          space: 80,
          values: (_, splits, __, ___, seconds) => splits.map(timeLabelFormatter(seconds)),
        },
        { ...axis, size: AXIS_WIDTH_PX, space: 36, values: (_, splits) => splits.map(textOf) },
      ],
      scales: { y: { range: (_, __, most) => [0, most > 0 ? most * headroomFactorOf(props) : 1] } },
      series: [
        {},
        ...series.map(({ label }, index) => {
          const token = SERIES_COLOURS[index % SERIES_COLOURS.length] ?? '--accent';
          return {
            label,
            stroke: () => cssColourOf(token),
            ...(given.isStacked && {
              fill: () => `color-mix(in srgb, ${cssColourOf(token)} 25%, transparent)`,
            }),
            width: 1.5,
            points: { show: false },
            spanGaps: false,
          };
        }),
      ],
      hooks: {
        setCursor: [({ cursor: { idx } }) => onMoment(idx ?? null)],
        draw: [(self) => drawMarks(self, props, cssColourOf)],
      },
    },
    plotDataOf(given),
    box,
  );

  const resized = new ResizeObserver(() => plot.setSize({ width: Math.max(1, box.clientWidth), height }));
  resized.observe(box);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const redraw = () => plot.redraw(false);
  scheme.addEventListener('change', redraw);
  return {
    update(next) {
      props = next;
      plot.setData(plotDataOf(next));
    },
    end() {
      resized.disconnect();
      scheme.removeEventListener('change', redraw);
      plot.destroy();
    },
  };
}

const TIME_FORMATTER = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DATE_FORMATTER = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const DAY_SECONDS = 86_400;

/**
 * Returns the function that formats the labels of the time axis.
 * @param seconds the time between two labels.
 */
function timeLabelFormatter(seconds: number): (at: number) => string {
  const format = seconds < DAY_SECONDS ? TIME_FORMATTER : DATE_FORMATTER;
  return (at) => format.format(at * 1_000);
}

function plotDataOf({ times, series, isStacked = false }: PlotProps): uPlot.AlignedData {
  const values = series.map((one) => [...one.values]);
  // The last series is at the bottom. Each other series is drawn on the sum of the series below it.
  if (isStacked)
    for (let index = values.length - 2; index >= 0; index -= 1)
      values[index] = (values[index] ?? []).map((value, at) => (value ?? 0) + (values[index + 1]?.[at] ?? 0));
  return [[...times], ...values];
}

/**
 * The height of the plot as a multiple of its highest curve. It leaves room for the labels of marks above the curves.
 */
function headroomFactorOf({ marks = [] }: PlotProps): number {
  return marks.some(({ text }) => text !== '') ? 1.35 : 1.1;
}

function drawMarks(plot: uPlot, { marks = [] }: PlotProps, colour: (token: string) => string): void {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  // The text alignment is set again, because drawing the axes has changed it.
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.strokeStyle = colour('--quiet');
  ctx.setLineDash([4 * scale, 3 * scale]);
  const end = bbox.left + bbox.width;
  const shown = marks
    .map(({ at, text }) => ({ x: plot.valToPos(at, 'x', true), text }))
    .filter(({ x }) => x >= bbox.left && x <= end);
  for (const { x } of shown) {
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  // The latest mark is always labelled. An earlier mark is labelled if its label does not overlap that of a later mark.
  const gap = 4 * scale;
  let free = end;
  for (const { x, text } of shown.toReversed()) {
    const width = ctx.measureText(text).width;
    // Near the right edge, the label is to the left of its line.
    const start = x + gap + width > end ? x - gap - width : x + gap;
    if (text === '' || start + width > free) continue;
    // The background of a label covers the lines of other marks.
    ctx.fillStyle = colour('--ground');
    ctx.fillRect(start - gap / 2, bbox.top, width + gap, 14 * scale);
    ctx.fillStyle = colour('--text');
    ctx.fillText(text, start, bbox.top + 11 * scale);
    free = Math.min(x, start) - gap;
  }
  ctx.restore();
}
