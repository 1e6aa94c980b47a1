import type { EncodeOptions, OperationStep, OutputFormat } from '../../protocol.ts';
import type { RequestedArguments } from './arguments.ts';
import * as channels from './channels.ts';
import * as colours from './colours.ts';
import * as composites from './composite.ts';
import * as cuts from './cuts.ts';
import * as filters from './filters.ts';
import * as margins from './margins.ts';
import type { Operation, StepOperation } from './operation.ts';
import * as placeholders from './placeholder.ts';
import * as redactions from './redact.ts';
import * as sizes from './resize.ts';
import * as settings from './settings.ts';
import * as texts from './text.ts';
import * as tones from './tones.ts';
import * as transparency from './transparency.ts';
import * as turns from './turns.ts';

/** Every operation, under the name that its file exports, which is the name that steps use. */
export const OPERATIONS = {
  ...sizes,
  ...cuts,
  ...turns,
  ...margins,
  ...transparency,
  ...channels,
  ...colours,
  ...tones,
  ...filters,
  ...redactions,
  ...composites,
  ...texts,
  ...placeholders,
  ...settings,
} satisfies Record<string, Operation>;

type OperationName = keyof typeof OPERATIONS;

/** The names of the operations that change the picture. */
export type StepName = {
  [N in OperationName]: (typeof OPERATIONS)[N] extends StepOperation ? N : never;
}[OperationName];

/** The arguments that a caller may send for this operation. */
export type StepArguments<N extends StepName> = RequestedArguments<(typeof OPERATIONS)[N]['declared']>;

/** The operation with this name; undefined when there is none. */
export function findOperation(name: string): Operation | undefined {
  return Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name as OperationName] : undefined;
}

/** The operation with this name that changes the picture; undefined when there is none. */
export function findStepOperation(name: string): StepOperation | undefined {
  const operation = findOperation(name);
  return operation?.kind === 'step' ? operation : undefined;
}

/** A second asset that a step reads in addition to its picture. */
export interface Layer {
  assetId: string;
  /** The parameter of the step that holds the id of the asset. */
  key: string;
}

/** The layers that steps read, in the order of the steps. */
export function layersOf(steps: readonly OperationStep[]): Layer[] {
  return steps.flatMap(({ operation, params }) => {
    const key = findStepOperation(operation)?.readsSecondAsset;
    return key === undefined ? [] : [{ assetId: String(params[key]), key }];
  });
}

/** Settings that only some encoders read. */
const ENCODER_SETTINGS = ['quality', 'effort', 'progressive', 'palette', 'colors', 'chroma'] as const;

/** The settings that were sent and that the encoder of a format does not read. */
export function unreadSettingsOf(format: OutputFormat, encode: EncodeOptions) {
  return ENCODER_SETTINGS.filter((name) => {
    const isSent = encode[name] !== undefined && encode[name] !== false;
    return isSent && !isSettingRead(format, name, encode);
  });
}

function isSettingRead(
  format: OutputFormat,
  name: (typeof ENCODER_SETTINGS)[number],
  { palette: isReduced, colors: count, lossless: isExact }: EncodeOptions,
): boolean {
  if (name === 'quality' && format === 'png') return isReduced === true || count !== undefined;
  if (name === 'quality' && isExact === true) return false;
  return name in OPERATIONS[format].declared;
}
