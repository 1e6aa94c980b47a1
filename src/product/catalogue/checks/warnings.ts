import { isTranslucentColour } from '../../../../workers/image/colour/colour.ts';
import { findStepOperation, unreadSettingsOf } from '../../../../workers/image/operations/index.ts';
import type { EncodeOptions, OperationStep, OutputFormat } from '../../../../workers/protocol.ts';
import type { CallWarning } from '../../../platform/http/hooks/warnings.ts';
import { likelyNames } from '../../../platform/ids/nearest.ts';
import { withoutAbsentFields } from '../../../platform/values/present.ts';
import type { AiStep, CompiledSegment, DeterministicStep } from '../plan/pass.ts';

/** A warning: the steps are valid, but probably do not do what was intended. */
export interface StepWarning {
  code: (typeof STEP_WARNING_CODES)[number];
  /** The parameter that the warning is about. */
  name?: string;
  /** The parameter that was probably meant. */
  meant?: { name: string; value?: string };
  /** One sentence that names the steps by their index. */
  message: string;
  /** The indexes of the steps that the warning concerns. The redundant step comes first. */
  steps: number[];
}

export const STEP_WARNING_CODES = [
  'format_shadowed',
  'resize_shadowed',
  'metadata_dropped',
  'alpha_lost',
  'enlarge_ignored',
  'border_cut',
  'no_effect',
  'unknown_parameter',
] as const;

type PassSteps = readonly DeterministicStep[];

interface PlacedStep {
  index: number;
  step: OperationStep;
}

/** All warnings about a valid list of steps. Each warning concerns one pass. */
export function stepWarningsOf(segments: readonly CompiledSegment[]): StepWarning[] {
  return segments.flatMap((segment, index) => {
    if (segment.runs === 'model') return unknownParameterWarnings(segment);
    const { steps } = segment;
    return [
      ...shadowedFormatWarnings(steps),
      ...repeatedResizeWarnings(steps),
      ...droppedMetadataWarnings(steps),
      ...lostAlphaWarnings(steps, segments[index - 1]),
      ...cutBorderWarnings(steps),
      ...noEffectWarnings(steps),
      ...unusedSettingWarnings(steps),
      ...steps.flatMap(ineffectiveResizeWarnings),
    ];
  });
}

/** Warnings about parameters that an image model does not list. The model receives such parameters unchanged. */
function unknownParameterWarnings({ op, model, parameters, index }: AiStep): StepWarning[] {
  const listed = [...model.parameters.map(({ key }) => key), ...Object.keys(op.parameters.properties)];
  const known = [...new Set(listed)];
  const unknown = Object.keys(parameters).filter((name) => !known.includes(name));
  return unknown.map((name) => {
    const [likely, ...others] = likelyNames(name, known);
    const meant = likely === undefined || others.length > 0 ? {} : { meant: { name: likely } };
    const message = `${name} of step ${index} is none of the parameters that the model ${model.id} lists.`;
    return { code: 'unknown_parameter', name, ...meant, message, steps: [index] };
  });
}

function shadowedFormatWarnings(pass: PassSteps): StepWarning[] {
  const setting = pass.filter((step) => formatSetBy(step) !== undefined);
  return setting.slice(0, -1).map((step, index) => {
    const later = setting[index + 1] ?? step;
    const format = formatSetBy(step);
    const message = `Step ${step.index} sets the format ${format}, but step ${later.index} of the same pass sets it again.`;
    return { code: 'format_shadowed', message, steps: [step.index, later.index] };
  });
}

/**
 * Warnings about a resize after an earlier step that already sets a fixed size, if no step in between depends on that
 * size.
 */
function repeatedResizeWarnings(pass: PassSteps): StepWarning[] {
  const found: StepWarning[] = [];
  let earlier: PlacedStep | undefined;
  for (const later of placedStepsOf(pass)) {
    const sizeAfter = findStepOperation(later.step.operation)?.sizeAfter;
    if (sizeAfter === 'kept') continue;
    if (earlier !== undefined && later.step.operation === 'resize')
      found.push(...resizePairWarnings(earlier, later));
    earlier = sizeAfter === 'given' ? later : undefined;
  }
  return found;
}

function resizePairWarnings(earlier: PlacedStep, later: PlacedStep): StepWarning[] {
  const found: StepWarning[] = [];
  if (isPlainResize(earlier.step)) {
    const message = `Step ${earlier.index} resizes what step ${later.index} of the same pass resizes again.`;
    found.push({ code: 'resize_shadowed', message, steps: [earlier.index, later.index] });
  }
  if (requestsLargerSize(earlier.step, later.step)) {
    const message = `Step ${later.index} asks for more pixels than step ${earlier.index} leaves, and without enlarge it does not get them.`;
    found.push({ code: 'enlarge_ignored', message, steps: [later.index, earlier.index] });
  }
  return found;
}

/**
 * Whether a step is a resize that neither crops nor pads. Of several such steps, only the last one determines the size.
 */
function isPlainResize({ operation, params }: OperationStep): boolean {
  return operation === 'resize' && params.fit !== 'cover' && params.fit !== 'contain';
}

function requestsLargerSize(earlier: OperationStep, later: OperationStep): boolean {
  if (later.params.enlarge === true || earlier.params.fit === 'outside') return false;
  const edges = (['width', 'height'] as const).filter((edge) => later.params[edge] !== undefined);
  return edges.every(
    (edge) => Number(later.params[edge]) > Number(earlier.params[edge] ?? Number.POSITIVE_INFINITY),
  );
}

/** Warns about metadata that is kept in a GIF, because GIF can contain XMP alone. Rights are written as XMP. */
function droppedMetadataWarnings(pass: PassSteps): StepWarning[] {
  const writer = lastFormatStepOf(pass);
  const keeper = pass.find(({ fragment: { encode } }) => encode.metadata === 'keep');
  if (writer?.format !== 'gif' || keeper === undefined) return [];
  const message = `Step ${keeper.index} keeps metadata, but step ${writer.index} writes ${writer.format}, which carries XMP alone.`;
  return [{ code: 'metadata_dropped', message, steps: distinctIndexes(keeper.index, writer.index) }];
}

/**
 * Warns about transparency that the format of the result cannot contain.
 * @param before the segment before the pass, if there is one.
 */
function lostAlphaWarnings(pass: PassSteps, before: CompiledSegment | undefined): StepWarning[] {
  const writer = lastFormatStepOf(pass);
  const hasOpaqueBackground = pass.some(
    ({ fragment: { encode } }) => encode.background !== undefined && !isTranslucentColour(encode.background),
  );
  if (writer?.format !== 'jpeg' || hasOpaqueBackground) return [];
  const touching = placedStepsOf(pass).map(({ index, step }) => {
    return { index, transparent: findStepOperation(step.operation)?.transparentAfter(step.params) };
  });
  if (before?.runs === 'model' && before.op.op === 'remove_background')
    touching.unshift({ index: before.index, transparent: true });
  const last = touching.findLast(({ transparent }) => transparent !== undefined);
  if (last?.transparent !== true) return [];
  const message = `Step ${last.index} makes the picture transparent, but step ${writer.index} writes jpeg, which has no transparency.`;
  return [{ code: 'alpha_lost', message, steps: distinctIndexes(last.index, writer.index) }];
}

/** Warnings about corners that are rounded after a border, which cuts off the corners of the border. */
function cutBorderWarnings(pass: PassSteps): StepWarning[] {
  const placed = placedStepsOf(pass).filter(
    ({ step: { operation } }) => findStepOperation(operation)?.sizeAfter !== 'kept',
  );
  return placed.flatMap(({ index, step }, position) => {
    const before = placed[position - 1];
    const isCut =
      step.operation === 'roundCorners' &&
      before?.step.operation === 'border' &&
      (before.step.params.radius ?? 0) === 0;
    if (!isCut) return [];
    const message = `Step ${index} rounds the corners of the border that step ${before.index} draws, and cuts them off: send radius to the border.`;
    return [{ code: 'border_cut', message, steps: [before.index, index] }];
  });
}

function noEffectWarnings(pass: PassSteps): StepWarning[] {
  const idle = pass.filter(
    ({ op, fragment: { decode, steps, encode } }) =>
      op?.produces !== 'json' &&
      Object.keys({ ...decode, ...encode }).length === 0 &&
      steps.every((step) => findStepOperation(step.operation)?.changesNothing(step.params)),
  );
  return idle.map(({ index }) => ({
    code: 'no_effect',
    message: `Step ${index} changes nothing.`,
    steps: [index],
  }));
}

/** Warnings about settings that have no effect, because the encoder of the result does not read them. */
function unusedSettingWarnings(pass: PassSteps): StepWarning[] {
  const formats = pass.map(formatsSetBy).findLast((set) => set.length > 0);
  if (formats === undefined) return [];
  const all: EncodeOptions = Object.assign({}, ...pass.map(({ fragment }) => fragment.encode));
  const unread = formats
    .map((format) => unreadSettingsOf(format, all))
    .reduce((common, others) => common.filter((name) => others.includes(name)));
  return pass.flatMap(({ index, fragment: { encode } }) =>
    unread
      .filter((name) => encode[name] !== undefined && encode[name] !== false)
      .map((name) => {
        const message = `${name} of step ${index} changes nothing in a file of the format ${formats.join(' or ')}.`;
        return { code: 'no_effect', name, message, steps: [index] };
      }),
  );
}

/** The parameters of a resize that choose which part of a picture a crop keeps. */
const CROP_PARAMETERS = ['gravity', 'focalX', 'focalY'] as const;

/**
 * Warnings about a gravity or a focal point on a resize that crops nothing. On a resize that pads, a gravity has an
 * effect and is not warned about.
 */
function ineffectiveResizeWarnings({ index, fragment }: DeterministicStep): StepWarning[] {
  const { params } = fragment.steps.find(({ operation }) => operation === 'resize') ?? {};
  if (params === undefined) return [];
  const { width, height, fit = 'inside' } = params;
  const isBox = width !== undefined && height !== undefined;
  const aimed = isBox && fit === 'cover' ? CROP_PARAMETERS : isBox && fit === 'contain' ? ['gravity'] : [];
  const idle = CROP_PARAMETERS.filter((name) => params[name] !== undefined && !aimed.includes(name));
  return idle.map((name, position) => {
    const reason = isBox
      ? `with fit ${fit} nothing is cut off, as it is with fit cover`
      : 'nothing is cut off';
    const message = `${name} of step ${index} changes nothing: ${reason}.`;
    const isLast = position === idle.length - 1;
    const meant = isBox && isLast ? { meant: { name: 'fit', value: 'cover' } } : {};
    return { code: 'no_effect', name, ...meant, message, steps: [index] };
  });
}

/**
 * Converts warnings about steps to the warnings of a call, which are codes without sentences. The code for the
 * parameter that was probably meant follows that of the warning.
 */
export function callWarningsOf(warnings: readonly StepWarning[]): CallWarning[] {
  return warnings.flatMap(({ code, name, meant }): CallWarning[] => [
    { code, ...withoutAbsentFields({ name }) },
    ...(meant === undefined ? [] : [{ code: 'did_you_mean' as const, ...meant }]),
  ]);
}

/** The last step of a pass that sets the format, together with that format. */
function lastFormatStepOf(pass: PassSteps) {
  const step = pass.findLast((one) => formatSetBy(one) !== undefined);
  const format = step && formatSetBy(step);
  return step === undefined || format === undefined ? undefined : { index: step.index, format };
}

/** The format that a step sets, or all formats if it sets several; undefined if it sets none. */
function formatSetBy(step: DeterministicStep): string | undefined {
  return formatsSetBy(step).join(', ') || undefined;
}

function formatsSetBy({ fragment }: DeterministicStep): readonly OutputFormat[] {
  const { format, formats } = fragment.encode;
  return formats ?? (format === undefined ? [] : [format]);
}

/** The operations of a pass, each with the index of its step. */
function placedStepsOf(pass: PassSteps): PlacedStep[] {
  return pass.flatMap(({ index, fragment }) => fragment.steps.map((step) => ({ index, step })));
}

function distinctIndexes(...indexes: number[]): number[] {
  return [...new Set(indexes)];
}
