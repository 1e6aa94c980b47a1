export interface Series {
  label: string;
  /** One value for each time; null if it is not known. */
  values: readonly (number | null)[];
}

export interface PlotProps {
  /** What it shows, in a few words. */
  label: string;
  /** In epoch seconds, the oldest first. */
  times: readonly number[];
  series: readonly Series[];
  /** In pixels. */
  height?: number;
  /** A value in words. Default: its number. */
  textOf?: (value: number) => string;
  /** What happened meanwhile, as lines on the axis of time. */
  marks?: readonly { at: number; text: string }[];
  /** Whether the series are drawn on top of one another, as parts of a whole. */
  isStacked?: boolean;
}

/** A plot that can be updated and removed. */
export interface LivePlot {
  update(props: PlotProps): void;
  end(): void;
}
