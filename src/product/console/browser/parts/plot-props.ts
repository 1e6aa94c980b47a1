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
  /** Events during the time, as lines on the time axis. */
  marks?: readonly { at: number; text: string }[];
  /** Whether the series are stacked on one another, as parts of a whole. */
  isStacked?: boolean;
}

/** A plot that can be updated and removed. */
export interface LivePlot {
  update(props: PlotProps): void;
  end(): void;
}
