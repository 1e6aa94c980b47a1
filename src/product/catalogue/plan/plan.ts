import { type Layer, layersOf } from '../../../../workers/image/operations/index.ts';
import type { ImagePass, OperationStep } from '../../../../workers/protocol.ts';
import type { ReadingTask } from '../../../imaging/readers/reading.ts';
import { findModel, type ModelsFile } from '../../models/models.ts';
import { creditsPerItem } from '../../models/prices.ts';
import type { AiOp, SegmentType } from '../op.ts';
import type { AiStep, CompiledPass, CompiledSegment } from './pass.ts';

/** Adjacent deterministic steps. They are joined so that an item is decoded and encoded only once. */
export interface PassSegment {
  runs: 'pass';
  /** The index among the segments, from 0. */
  index: number;
  /** The indexes of its steps in the list that was sent. */
  stepIndexes: number[];
  pass: ImagePass;
  /** The pass as operations of the registry, as a job shows it. */
  pipeline: OperationStep[];
  /** The second assets that its steps read. */
  layers: Layer[];
  /** The asset to compare the result of the pass with. */
  compareWith?: string;
  /** Whether the comparison includes the SSIMULACRA 2 score. */
  isScored?: boolean;
  /** What is read from the result of the pass. */
  reads?: ReadingTask;
  produces: 'image' | 'json';
}

/** One step that runs a model. */
export interface ModelSegment extends Pick<AiStep, 'model' | 'prompt' | 'parameters' | 'schema'> {
  runs: 'model';
  index: number;
  stepIndexes: number[];
  op: AiOp['op'];
  jobType: AiOp['jobType'];
  produces: 'image' | 'json';
}

/** One part of an item's plan. It is plain data, which a job stores at submit. */
export type PlanSegment = PassSegment | ModelSegment;

/** The source of an item: an asset, nothing but its number of `count`, or a row of data. */
export type ItemInputKind = 'assets' | 'nothing' | 'rows';

/** The plan of a job. */
export function segmentPlanOf(segments: readonly CompiledSegment[]): PlanSegment[] {
  return segments.map((segment, index) =>
    segment.runs === 'model' ? modelSegment(segment, index) : passSegment(segment, index),
  );
}

/** The type of the job that runs these segments. */
export function jobTypeOfSegments(segments: readonly PlanSegment[]): SegmentType | 'chain' {
  const [first, ...others] = segments;
  if (first === undefined || others.length > 0) return 'chain';
  return first.runs === 'pass' ? 'process' : first.jobType;
}

/** The source of an item of these segments. */
export function itemInputKindOf([first]: readonly PlanSegment[]): ItemInputKind {
  return first?.runs === 'model' && first.op === 'generate' ? 'nothing' : 'assets';
}

/**
 * The credits of one item for a finished segment. A pass costs no credits, because it counts against the plan's
 * allowance.
 * @throws Error when the model has no price; a call with such a model is refused before.
 */
export function requireSegmentPrice(models: ModelsFile, segment: PlanSegment): number {
  if (segment.runs === 'pass') return 0;
  const model = findModel(models, segment.model);
  if (model === undefined) throw new Error(`${segment.model} has no price: it is not offered.`);
  return creditsPerItem(models, model, segment.parameters);
}

function modelSegment({ runs, at: _, index: stepIndex, op, ...work }: AiStep, index: number): ModelSegment {
  const { op: name, jobType, produces } = op;
  return { runs, index, stepIndexes: [stepIndex], ...work, op: name, jobType, produces };
}

function passSegment({ runs, steps, pass, ...used }: CompiledPass, index: number): PassSegment {
  return {
    runs,
    index,
    stepIndexes: steps.map((step) => step.index),
    pass,
    pipeline: pipelineOf(pass),
    layers: layersOf(pass.steps),
    ...used,
    produces: steps.at(-1)?.op?.produces ?? 'image',
  };
}

/**
 * A pass as a list in order of execution: reading the input, the steps, writing the result. The last entry is named
 * after the output format, or `encode` if the input's format is kept.
 */
function pipelineOf({ decode, steps, encode }: ImagePass): OperationStep[] {
  const { format, metadata, ...settings } = encode;
  const hasSettings = format !== undefined || Object.keys(settings).length > 0;
  return [
    ...(Object.keys(decode).length > 0 ? [{ operation: 'decode', params: { ...decode } }] : []),
    ...steps,
    ...(metadata === undefined ? [] : [{ operation: 'keepMetadata', params: { metadata } }]),
    ...(hasSettings ? [{ operation: format ?? 'encode', params: settings }] : []),
  ];
}
