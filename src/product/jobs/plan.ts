import type { AiOp } from '../catalogue/op.ts';
import type { AiStep, CompiledPass, CompiledSegment } from '../catalogue/plan/pass.ts';
import type { ModelsFile } from '../models/models.ts';
import { creditsPerItem } from '../models/prices.ts';

/** Adjacent deterministic steps, joined so that an item is decoded and encoded only once. */
export interface PassSegment
  extends Pick<CompiledPass, 'pass' | 'layers' | 'compareWith' | 'isScored' | 'reads'> {
  runs: 'pass';
  /** The index among the segments, from 0. */
  index: number;
  /** The indexes of the segment's steps in the list that was sent. */
  stepIndexes: number[];
  /** The steps of the pass, in the form in which the API shows a job. */
  pipeline: CompiledPass['pass']['steps'];
  produces: 'image' | 'json';
}

export interface ModelSegment extends Pick<AiStep, 'prompt' | 'parameters' | 'schema'> {
  runs: 'model';
  index: number;
  stepIndexes: number[];
  model: string;
  op: AiOp['op'];
  jobType: AiOp['jobType'];
  produces: 'image' | 'json';
}

/** A part of the plan of an item. It is plain data, because the job stores it. */
export type PlanSegment = PassSegment | ModelSegment;

/** The plan of an item: the segments of a compiled list of steps as plain data. */
export function planOf(segments: readonly CompiledSegment[]): PlanSegment[] {
  return segments.map((segment, index) =>
    segment.runs === 'model' ? toModelSegment(segment, index) : toPassSegment(segment, index),
  );
}

/** The credits that one item costs in a segment. A pass costs none, because it counts against the plan's allowance. */
export function segmentCreditsPerItem(models: ModelsFile, segment: CompiledSegment): number {
  return segment.runs === 'pass' ? 0 : creditsPerItem(models, segment.model, segment.parameters);
}

function toModelSegment(
  { runs, findField: _, index: stepIndex, op, model, ...work }: AiStep,
  index: number,
): ModelSegment {
  const { op: name, jobType, produces } = op;
  return { runs, index, stepIndexes: [stepIndex], model: model.id, ...work, op: name, jobType, produces };
}

function toPassSegment({ runs, steps, pass, ...used }: CompiledPass, index: number): PassSegment {
  return {
    runs,
    index,
    stepIndexes: steps.map((step) => step.index),
    pass,
    pipeline: pipelineOf(pass),
    ...used,
    produces: steps.at(-1)?.op?.produces ?? 'image',
  };
}

/**
 * A pass as a list in order of execution: how the input is read, the steps, and how the result is written. The name of
 * the last entry is the output format, or `encode` if the format of the input is kept.
 */
function pipelineOf({ decode, steps, encode }: CompiledPass['pass']): PassSegment['pipeline'] {
  const { format, metadata, ...settings } = encode;
  const hasSettings = format !== undefined || Object.keys(settings).length > 0;
  return [
    ...(Object.keys(decode).length > 0 ? [{ operation: 'decode', params: { ...decode } }] : []),
    ...steps,
    ...(metadata === undefined ? [] : [{ operation: 'keepMetadata', params: { metadata } }]),
    ...(hasSettings ? [{ operation: format ?? 'encode', params: settings }] : []),
  ];
}
