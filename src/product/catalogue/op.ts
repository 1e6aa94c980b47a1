import type { TObject, TProperties } from '@sinclair/typebox';
import type { DecodeOptions, EncodeOptions, OperationStep } from '../../../workers/protocol.ts';
import type { ReadingTask } from '../../imaging/readers/reading.ts';
import type { CallCorrection } from '../../platform/http/errors/corrections.ts';
import type { ModelCategory } from '../models/models.ts';

/** The endpoint that runs any op with an image as its result while the caller waits. */
export const TRANSFORM_ENDPOINT = '/images/transform';

/** Parameters as sent. Only `checkOpParameters` converts them to `CheckedParameters`. */
export type GivenParameters = Readonly<Record<string, unknown>>;

declare const checked: unique symbol;
/** Parameters that are valid under their op's contract. The type ensures that only checked parameters are compiled. */
export type CheckedParameters = GivenParameters & { readonly [checked]: true };

/** A violation of a rule over several parameters: the parameter to name, and how to correct it. */
export interface ParameterViolation {
  key: string;
  message: string;
  details?: Record<string, unknown> | undefined;
  /** Changes that certainly correct it. Paths are relative to the parameters. */
  corrections?: readonly CallCorrection[] | undefined;
}

/** The contribution of one deterministic step to a pass. */
export interface PassFragment {
  decode: DecodeOptions;
  steps: OperationStep[];
  encode: EncodeOptions;
  /** The asset to compare the result of the pass with. The call then returns the comparison instead of an image. */
  compareWith?: string;
  /** Whether the comparison includes the SSIMULACRA 2 score. */
  isScored?: boolean;
  /** What to read from the result of the pass. The call then returns that instead of an image. */
  reads?: ReadingTask;
}

interface OpBase<N extends string> {
  op: N;
  /**
   * The kind of work of an item: a pass over pixels, the drawing of a page, a model, or the response of an endpoint.
   */
  runs: 'pass' | 'render' | 'model' | 'answer';
  /** One sentence that says what the op does, for an agent that has to choose. */
  description: string;
  parameters: TObject;
  /** Fields of a job body that the op takes besides `parameters`, such as prompt or templateId. */
  fields: TProperties;
  /** A rule across several parameters. It is checked once each parameter is valid by itself. */
  rule?: (given: GivenParameters) => ParameterViolation | undefined;
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
  /** The parameter that names a second picture, which the pass reads as well. */
  readsSecondAsset?: string;
  /** The parameters that become an argument of the registry with a different name, the likeliest parameter first. */
  renamed: Readonly<Record<string, readonly string[]>>;
  compile(params: CheckedParameters): PassFragment;
}

/** An op that draws a template. It is deterministic, but cannot be a step of a pass. */
export interface RenderOp<N extends string = string> extends OpBase<N> {
  runs: 'render';
  /** The body of the endpoint that draws one row while the caller waits. */
  syncFields: TProperties;
  syncExample: GivenParameters;
  kind: 'deterministic';
  jobType: 'render';
  syncEndpoint: string;
  example: GivenParameters;
}

/** An op that has its own endpoint and cannot be a job. */
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
   * Whether the parameters are sent to the model unchanged. The contract describes them, and the model's own limits
   * apply.
   */
  parametersAsSent: boolean;
  example: GivenParameters;
  /** The instruction for the model if no prompt is sent. */
  defaultPrompt?: string;
  /** The default JSON Schema of the answer. */
  defaultSchema?: Record<string, unknown>;
}

export type Op = PixelOp | RenderOp | SyncOp | AiOp;
