import type { TObject, TProperties } from '@sinclair/typebox';
import type { DecodeOptions, EncodeOptions, OperationStep } from '../../../workers/protocol.ts';
import type { ReadingTask } from '../../imaging/readers/reading.ts';
import type { CallCorrection } from '../../platform/http/errors/corrections.ts';
import type { ModelCategory } from '../models/models.ts';

/** The synchronous endpoint for all ops whose result is an image. */
export const TRANSFORM_ENDPOINT = '/images/transform';

/** Parameters as sent. Only `checkOpParameters` converts them to `CheckedParameters`. */
export type GivenParameters = Readonly<Record<string, unknown>>;

declare const checked: unique symbol;
/** Parameters that are valid under their op's contract. The type ensures that only checked parameters are compiled. */
export type CheckedParameters = GivenParameters & { readonly [checked]: true };

/**
 * A violation of a rule that concerns several parameters: the parameter to name in the error, and how to correct it.
 */
export interface ParameterViolation {
  key: string;
  message: string;
  details?: Record<string, unknown> | undefined;
  /** Changes that certainly correct the violation. Paths are relative to the parameters. */
  corrections?: readonly CallCorrection[] | undefined;
}

/** What one deterministic step adds to a pass. */
export interface PassFragment {
  decode: DecodeOptions;
  steps: OperationStep[];
  encode: EncodeOptions;
  /**
   * The asset with which the result of the pass is compared. If present, the call returns the comparison instead of an
   * image.
   */
  compareWith?: string;
  /** Whether the comparison includes the SSIMULACRA 2 score. */
  isScored?: boolean;
  /**
   * What to read from the result of the pass, such as its text. If present, the call returns what was read instead of
   * an image.
   */
  reads?: ReadingTask;
}

interface OpBase<N extends string> {
  op: N;
  /**
   * What does the work of the op: a pass over pixels, the drawing of a page, a model, or an endpoint that answers
   * directly.
   */
  runs: 'pass' | 'render' | 'model' | 'answer';
  /** One sentence that says what the op does, for an agent that has to choose. */
  description: string;
  parameters: TObject;
  /** Fields of a job body that the op takes besides `parameters`, such as prompt or templateId. */
  fields: TProperties;
  /** Finds a violation of a rule for several parameters together. It is called once each parameter is valid alone. */
  findInvalidParameter?: (given: GivenParameters) => ParameterViolation | undefined;
  produces: 'image' | 'json';
  requiresAssets: boolean;
  requiresPrompt: boolean;
}

/** An op on the pixels of one image. It compiles to a part of a pass. */
export interface PixelOp<N extends string = string> extends OpBase<N> {
  runs: 'pass';
  kind: 'deterministic';
  jobType: 'process';
  syncEndpoint?: string;
  example: { parameters: GivenParameters };
  /**
   * The parameter that names the second picture of the op, such as an overlay. Absent if the op reads only one picture.
   */
  readsSecondAsset?: string;
  /**
   * The registry arguments whose name differs from the op's parameters, each with the parameters that may set it,
   * likeliest first.
   */
  renamed: Readonly<Record<string, readonly string[]>>;
  compile(params: CheckedParameters): PassFragment;
}

/** An op that draws a template. It is deterministic, but cannot be a step of a pass. */
export interface RenderOp<N extends string = string> extends OpBase<N> {
  runs: 'render';
  /** The fields of the body of the synchronous endpoint, which draws one row. */
  syncFields: TProperties;
  syncExample: GivenParameters;
  kind: 'deterministic';
  jobType: 'render';
  syncEndpoint: string;
  example: GivenParameters;
}

/** An op with its own synchronous endpoint, which cannot run in a job. */
export interface SyncOp<N extends string = string> extends OpBase<N> {
  runs: 'answer';
  kind: 'sync';
  endpoint: string;
}

/** An op that runs a model of the category with the same name. */
export interface AiOp<N extends ModelCategory = ModelCategory> extends OpBase<N> {
  runs: 'model';
  kind: 'ai';
  jobType: 'ai-generate' | 'ai-edit' | 'parse';
  /**
   * Whether the parameters are sent to the model unchanged. If so, the contract only documents them, and the model's
   * own limits apply.
   */
  sendsParametersUnchanged: boolean;
  example: GivenParameters;
  /** The instruction for the model if no prompt is sent. */
  defaultPrompt?: string;
  /** The default JSON Schema of the answer. */
  defaultSchema?: Record<string, unknown>;
}

export type Op = PixelOp | RenderOp | SyncOp | AiOp;

/** The endpoint that runs an op in a synchronous call; undefined for an op that runs in jobs only. */
export function endpointOf(op: Op): string | undefined {
  if (op.kind === 'sync') return op.endpoint;
  return 'syncEndpoint' in op ? op.syncEndpoint : undefined;
}
