import type { TObject, TProperties } from '@sinclair/typebox';
import type { Decode, Encode, OperationStep } from '../../../workers/protocol.ts';
import type { ReadingTask } from '../../imaging/readers/reading.ts';
import type { Mend } from '../../platform/http/errors/mends.ts';
import type { ModelCategory } from '../models/models.ts';

/** The endpoint that runs any op with an image as its result while the caller waits. */
export const TRANSFORM_ENDPOINT = '/images/transform';

/** Parameters as sent; only `checkParameters` makes them `Checked`. */
export type Given = Readonly<Record<string, unknown>>;

declare const checked: unique symbol;
/** Parameters that are valid under their op's contract. The type ensures that only checked parameters are compiled. */
export type Checked = Given & { readonly [checked]: true };

/** A violation of a rule across several parameters: the parameter to name, and how to correct it. */
export interface Violation {
  key: string;
  message: string;
  details?: Record<string, unknown> | undefined;
  /** What certainly mends it. Paths are relative to the parameters. */
  mends?: readonly Mend[] | undefined;
}

/** A part of a pass: the requirements of one deterministic step. */
export interface Fragment {
  decode: Decode;
  steps: OperationStep[];
  encode: Encode;
  /** The asset that the result of the pass is compared with, instead of returning an image. */
  compareWith?: string;
  /** Whether the comparison adds the score of SSIMULACRA 2. */
  isScored?: boolean;
  /** What is read from the result of the pass, instead of returning an image. */
  reads?: ReadingTask;
}

interface OpBase<N extends string> {
  op: N;
  /** The kind of work of an item: a pass over pixels, the drawing of a page, a model, or an endpoint's answer. */
  runs: 'pass' | 'render' | 'model' | 'answer';
  /** One sentence that says what the op does, for an agent that has to choose. */
  description: string;
  /** The schema of the job's `parameters`. */
  parameters: TObject;
  /** Fields of a job body that the op takes besides `parameters`, such as prompt or templateId. */
  fields: TProperties;
  /** A rule across several parameters. It is checked once each parameter is valid by itself. */
  rule?: (given: Given) => Violation | undefined;
  produces: 'image' | 'json';
  requiresAssets: boolean;
  requiresPrompt: boolean;
}

/** An image pipeline on one image: compiles to a part of a pass. */
export interface PixelOp<N extends string = string> extends OpBase<N> {
  runs: 'pass';
  kind: 'deterministic';
  jobType: 'process';
  syncEndpoint?: string;
  example: { parameters: Given };
  /** The parameter that names a second picture, which the pass reads as well. */
  readsSecondAsset?: string;
  /** The parameters that become an argument of the registry with a different name, the likeliest first. */
  renamed: Readonly<Record<string, readonly string[]>>;
  compile(params: Checked): Fragment;
}

/** An op that draws a template. It is deterministic, but no step of a pass. */
export interface RenderOp<N extends string = string> extends OpBase<N> {
  runs: 'render';
  /** The body of the endpoint that draws one row while the caller waits. */
  syncFields: TProperties;
  syncExample: Given;
  kind: 'deterministic';
  jobType: 'render';
  syncEndpoint: string;
  example: Given;
}

/** An op with its own endpoint, which cannot be a job. */
export interface SyncOp<N extends string = string> extends OpBase<N> {
  runs: 'answer';
  kind: 'sync';
  endpoint: string;
}

/** Runs a model, of the category that has the name of the op. */
export interface AiOp<N extends ModelCategory = ModelCategory> extends OpBase<N> {
  runs: 'model';
  kind: 'ai';
  jobType: 'ai-generate' | 'ai-edit' | 'parse';
  /** Its parameters are sent to the model unchanged: the contract describes them, and the model's own bounds count. */
  parametersAsSent: boolean;
  example: Given;
  /** The default instruction. */
  defaultPrompt?: string;
  /** The default JSON Schema of the answer. */
  defaultSchema?: Record<string, unknown>;
}

export type Op = PixelOp | RenderOp | SyncOp | AiOp;
/** The type of a job whose work is one segment. */
export type SegmentType = (PixelOp | RenderOp | AiOp)['jobType'];
