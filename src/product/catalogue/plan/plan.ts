import type { Pass, Step } from '../../../../workers/protocol.ts';
import type { Reading } from '../../../imaging/readers/reading.ts';
import { type ApiError, invalidParam } from '../../../platform/http/errors/errors.ts';
import type { SentField } from '../../../platform/http/errors/sent-field.ts';
import { present } from '../../../platform/values/present.ts';
import { findModel, type Models } from '../../models/models.ts';
import { creditsPerItem } from '../../models/prices.ts';
import { mergeFragments } from '../merge.ts';
import type { AiOp, Fragment, Given, PixelOp, SegmentType } from '../op.ts';
import { type Layer, layersOf } from '../registry.ts';
import type { FieldsOf } from './sent-step.ts';
import type { PresetStep } from './step.ts';

/** A deterministic step of a list, checked and compiled. */
export interface DeterministicStep {
  kind: 'deterministic';
  /** The index in the list as sent, from 0. */
  index: number;
  /** Absent for an operation of the processing registry. */
  op?: PixelOp;
  /** The parameters of the op in their main spelling, or those of the operation. */
  parameters: Given;
  fragment: Fragment;
  at: FieldsOf;
}

/** A step that runs a model. It divides the list into segments. */
export interface AiStep {
  kind: 'ai';
  index: number;
  op: AiOp;
  /** The id of the model: the named one, else the op's default. */
  model: string;
  /** As sent: subjects are not yet expanded. */
  prompt?: string;
  parameters: Given;
  /** JSON Schema of the answer; absent if an image is made. */
  schema?: Given;
  at: FieldsOf;
}

export type CompiledStep = DeterministicStep | AiStep;

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
  /** The asset that the result of the pass is compared with. */
  compareWith?: string;
  /** What is read from the result of the pass. */
  reads?: Reading;
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

/** Adjacent deterministic steps form one process pass; each AI step is its own segment. */
export function segmentsOf<S extends Pick<CompiledStep, 'kind'>>(steps: readonly S[]): S[][] {
  const segments: S[][] = [];
  for (const step of steps) {
    const open = segments.at(-1);
    if (step.kind === 'deterministic' && open?.[0]?.kind === 'deterministic') open.push(step);
    else segments.push([step]);
  }
  return segments;
}

/** The plan of a job: the segments of a compiled list. */
export function planOf(steps: readonly CompiledStep[]): Segment[] {
  return segmentsOf(steps).map((segment, index) => {
    const [first] = segment;
    if (first?.kind === 'ai') return modelSegment(first, index);
    const pass = segment.filter((step) => step.kind === 'deterministic');
    return passSegment(pass, index);
  });
}

/** The type of the job that runs these segments. */
export function typeOf(segments: readonly Segment[]): SegmentType | 'chain' {
  const [first, ...others] = segments;
  if (first === undefined || others.length > 0) return 'chain';
  return first.runs === 'pass' ? 'process' : first.jobType;
}

/** The source of an item of these segments. */
export function takenBy([first]: readonly Segment[]): Taken {
  return first?.runs === 'model' && first.op === 'generate' ? 'nothing' : 'assets';
}

/** A list that runs as one pass on one image, while its caller waits. */
interface OnePass {
  pass: Pass;
  steps: readonly DeterministicStep[];
  obstacle?: never;
}

/** What a step does whose second picture the call does not bring. */
export const READS_SECOND = 'reads a second asset';

/** The first step that cannot run. `does` completes the sentence "has a step that …". */
export interface Obstacle {
  obstacle: { does: 'runs a model' | 'answers JSON' | typeof READS_SECOND; step: CompiledStep };
}

/**
 * The plan of a synchronous call: the single pass of a compiled list, or the step that cannot run in one.
 * @param layers the ids of the second pictures that the call brings.
 */
export function onePassOf(
  compiled: readonly CompiledStep[],
  layers: readonly string[] = [],
): OnePass | Obstacle {
  const steps: DeterministicStep[] = [];
  for (const step of compiled) {
    if (step.kind === 'ai') return { obstacle: { does: 'runs a model', step } };
    const { reads, compareWith, steps: operations } = step.fragment;
    if (reads !== undefined || compareWith !== undefined) return { obstacle: { does: 'answers JSON', step } };
    if (layersOf(operations).some(({ assetId }) => !layers.includes(assetId)))
      return { obstacle: { does: READS_SECOND, step } };
    steps.push(step);
  }
  return { pass: mergedPass(steps).pass, steps };
}

/**
 * The credits of one item for a finished segment. A pass costs none, because it counts against the plan's allowance.
 * @throws Error when the model has no price; a call with such a model is refused before.
 */
export function requirePrice(models: Models, segment: Segment): number {
  if (segment.runs === 'pass') return 0;
  const model = findModel(models, segment.model);
  if (model === undefined) throw new Error(`${segment.model} has no price: it is not offered.`);
  return creditsPerItem(models, model, segment.parameters);
}

/** The field with an argument of a deterministic step. */
export function argumentOf({ op, at }: DeterministicStep, key: string): SentField {
  return at(op === undefined ? 'params' : `parameters.${key}`);
}

function modelSegment(step: AiStep, index: number): ModelSegment {
  const { index: stepIndex, op, model, prompt, parameters, schema } = step;
  const { op: name, jobType, produces } = op;
  return {
    ...{ runs: 'model', index, stepIndexes: [stepIndex], op: name, jobType, model, parameters, produces },
    ...present({ prompt, schema }),
  };
}

/** The single pass of checked steps, and what is done with its result instead of returning it. */
function mergedPass(
  steps: readonly DeterministicStep[],
): Pick<PassSegment, 'pass' | 'compareWith' | 'reads'> {
  const merged = mergeFragments(steps.map(({ fragment }) => fragment));
  if (merged.conflict !== undefined) throw new Error(`Unchecked steps: ${merged.conflict.message}`);
  return merged;
}

function passSegment(steps: readonly DeterministicStep[], index: number): PassSegment {
  const { pass, compareWith, reads } = mergedPass(steps);
  return {
    runs: 'pass',
    index,
    stepIndexes: steps.map((step) => step.index),
    pass,
    pipeline: pipelineOf(pass),
    layers: layersOf(pass.steps),
    ...present({ compareWith, reads }),
    produces: steps.at(-1)?.op?.produces ?? 'image',
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

/** Counts the steps of the pass from 0, as a refusal of the worker does. */
const STEP_OF_PASS = /^steps\[(\d+)\]/;

/**
 * The parameter of the call behind a parameter of its pass, which a refusal of the worker names: of the step that the
 * refusal counts, else of the last step that sent it, which overrides the earlier ones, else of the whole work.
 */
export function sentParamOf(steps: readonly DeterministicStep[], passParam: string, whole = 'steps'): string {
  const counted = STEP_OF_PASS.exec(passParam)?.[1];
  const name = passParam.split('.').at(-1) ?? passParam;
  const sender =
    counted === undefined
      ? steps.findLast(({ parameters }) => name in parameters)
      : steps.flatMap((step) => step.fragment.steps.map(() => step))[Number(counted)];
  const step = sender ?? onlyOp(steps);
  return step === undefined ? whole : fieldBehind(step, name).param;
}

/** The step of a list of one op, whose parameter it is although it was not sent. */
function onlyOp([step, ...others]: readonly DeterministicStep[]): DeterministicStep | undefined {
  return others.length === 0 && step?.op !== undefined ? step : undefined;
}

/** The field after an argument of a step, preferably one that was sent. */
function fieldBehind({ op, parameters, at }: DeterministicStep, argument: string): SentField {
  if (op === undefined) return at(`params.${argument}`);
  const names = [argument, ...(op.renamed[argument] ?? [])];
  const name =
    names.find((known) => known in parameters) ?? names.find((known) => known in op.parameters.properties);
  return at(name === undefined ? 'op' : `parameters.${name}`);
}

/** The refusal of a preset that does not run while its caller waits. @param param names the preset in the call. */
export function presetRefusal(
  { does }: Obstacle['obstacle'],
  steps: readonly PresetStep[],
  param: string,
): ApiError {
  const message = `The preset has a step that ${does}, so it runs only as a job: send it to POST /api/v1/jobs`;
  if (does !== READS_SECOND) return invalidParam(param, `${message}.`);
  return invalidParam(param, `${message}, or send its steps as steps of this call.`, {
    instead: [{ steps }],
  });
}
