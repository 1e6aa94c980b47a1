export interface Series {
  label: string;
  /** One per time; null where nothing is known. */
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

/** What keeps a drawing up to date. */
export interface LivePlot {
  update(props: PlotProps): void;
  end(): void;
}
