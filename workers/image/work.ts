import type { EncodeOptions, OperationStep, OutputFormat, TransformTask } from '../protocol.ts';
import type { ChosenFrames } from './frames.ts';
import type { InputFacts } from './input.ts';
import type { CarriedMetadataBlocks, CarriedProfile } from './metadata/carried-metadata.ts';
import type { PassContext, StepOperation } from './operations/operation.ts';
import type { PassPicture } from './picture.ts';
import type { Rgba } from './pixels/pixels.ts';
import type { TakeTurn } from './search/rivals.ts';
import type { WorkClock } from './search/time.ts';

export interface PlannedStep {
  operation: StepOperation;
  params: OperationStep['params'];
  /** The index of the step in the pass, which failures name. */
  index: number;
}

/** A pass in progress: all choices are made, and the picture is opened. Each stage changes the picture. */
export interface PassWork {
  task: TransformTask;
  /** Whether the sender can kill this process. Only then a trial that takes too long may be left behind. */
  canBeKilled: boolean;
  /** Present if a trial was left behind: it still reads the pixels. */
  leavesWork?: true;
  steps: PlannedStep[];
  encode: EncodeOptions & { format: OutputFormat };
  source: InputFacts;
  /** Whether the input was rewritten to be readable, so that it cannot be returned as the result. */
  isConverted: boolean;
  chosen: ChosenFrames;
  /** The metadata of the file that is copied to the result. */
  carried: CarriedMetadataBlocks;
  profile: CarriedProfile;
  picture: PassPicture;
  /** The background under transparent pixels; undefined if the output can be transparent. */
  ground: Rgba | undefined;
  context: PassContext;
  /** The milliseconds that the opening of the picture took. */
  decodeMs: number;
  /** The epoch milliseconds at which a search that has reached its target ends: see `SearchTime`. */
  improvesUntilMs?: number;
  /** Present if the pass searches for the smallest file together with others, as is the clock that they share. */
  takeTurn?: TakeTurn;
  clock?: WorkClock;
}

/** Whether a step only moves or averages pixels, as the steps do that commute with flattening. */
export function onlyMovesOrAveragesPixels({ operation, params }: PlannedStep): boolean {
  return operation.commutesWithFlatten(params);
}

/** The formats that can be written and that libvips calls by the same name. */
const FORMATS_WRITTEN_AS_READ: readonly OutputFormat[] = ['jpeg', 'png', 'webp', 'gif', 'tiff'];

/** The format of the input if it can be written, otherwise png. */
export function writableFormatFor(format: string): OutputFormat {
  // AV1 is the only codec of the HEIF family that this service reads.
  if (format === 'heif') return 'avif';
  return FORMATS_WRITTEN_AS_READ.find((one) => one === format) ?? 'png';
}
