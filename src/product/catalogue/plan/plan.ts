import type { Pass, Step } from '../../../../workers/protocol.ts';
import { present } from '../../../platform/values/present.ts';
import { OPS } from '../index.ts';
import { mergeFragments } from '../merge.ts';
import type { AiOp, Given, JobType } from '../op.ts';
import { type Layer, layersOf } from '../registry.ts';
import { type AiStep, type CompiledStep, type DeterministicStep, segmentsOf } from './compiled-step.ts';

/** Adjacent deterministic steps, which are joined so that an item is decoded and encoded only once. */
export interface PassSegment {
  runs: 'pass';
  /** The index among the segments, from 0. */
  index: number;
  /** The indexes of its steps in the list as sent. */
  stepIndexes: number[];
  pass: Pass;
  /** The pass as operations of the processing registry, as a job shows it. */
  pipeline: Step[];
  /** The second assets that its steps read. */
  layers: Layer[];
  /** The asset with which the pass compares its result. */
  compareWith?: string;
  produces: 'image' | 'json';
}

/** One step that runs a model. */
export interface ModelSegment {
  runs: 'model';
  index: number;
  stepIndexes: number[];
  op: AiOp['op'];
  jobType: AiOp['jobType'];
  model: string;
  /** The prompt as sent, before its subjects are expanded. */
  prompt?: string;
  parameters: Given;
  /** The JSON Schema of the answer; absent when the result is an image. */
  schema?: Given;
  produces: 'image' | 'json';
}

/** One part of an item's plan. It is plain data, so that a job can store it at submit. */
export type Segment = PassSegment | ModelSegment;

/** The source of an item: an asset, its number of `count`, or a row of data. */
export type Taken = 'assets' | 'nothing' | 'rows';

/** Divides a checked list of steps into segments. */
export function planOf(steps: readonly CompiledStep[]): Segment[] {
  return segmentsOf(steps).map((segment, index) => {
    const [first] = segment;
    if (first?.kind === 'ai') return modelSegment(first, index);
    const pass = segment.filter((step) => step.kind === 'deterministic');
    return passSegment(pass, index);
  });
}

/** The type of the job that runs these segments. */
export function typeOf(segments: readonly Segment[]): JobType | 'chain' {
  const [first, ...others] = segments;
  if (first === undefined || others.length > 0) return 'chain';
  return first.runs === 'pass' ? 'process' : first.jobType;
}

/** The source of an item of these segments. */
export function takenBy([first]: readonly Segment[]): Taken {
  return first?.runs === 'model' && first.op === 'generate' ? 'nothing' : 'assets';
}

function modelSegment(step: AiStep, index: number): ModelSegment {
  const { index: stepIndex, op, model, prompt, parameters, schema } = step;
  const { jobType, produces } = OPS[op];
  return {
    ...{ runs: 'model', index, stepIndexes: [stepIndex], op, jobType, model, parameters, produces },
    ...present({ prompt, schema }),
  };
}

/** The single pass of checked steps, and the asset that it is compared with. */
export function checkPass(steps: readonly DeterministicStep[]): { pass: Pass; compareWith?: string } {
  const merged = mergeFragments(steps.map(({ fragment }) => fragment));
  if (merged.conflict !== undefined) throw new Error(`Unchecked steps: ${merged.conflict.message}`);
  return merged;
}

function passSegment(steps: readonly DeterministicStep[], index: number): PassSegment {
  const { pass, compareWith } = checkPass(steps);
  return {
    runs: 'pass',
    index,
    stepIndexes: steps.map((step) => step.index),
    pass,
    pipeline: pipelineOf(pass),
    layers: layersOf(pass.steps),
    ...present({ compareWith }),
    produces: compareWith === undefined ? 'image' : 'json',
  };
}

/**
 * A pass as a list in the order of its execution: reading the input, the steps, writing the result. The last entry is
 * named after the output format, or `encode` when that is the format of the input.
 */
function pipelineOf({ decode, steps, encode }: Pass): Step[] {
  const { format, metadata, ...settings } = encode;
  const hasSettings = format !== undefined || Object.keys(settings).length > 0;
  return [
    ...(Object.keys(decode).length > 0 ? [{ operation: 'decode', params: { ...decode } }] : []),
    ...steps,
    ...(metadata === undefined ? [] : [{ operation: 'keepMetadata', params: { metadata } }]),
    ...(hasSettings ? [{ operation: format ?? 'encode', params: settings }] : []),
  ];
}
