import type { TObject, TProperties } from '@sinclair/typebox';
import type sharp from 'sharp';
import type { Sharp } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { Decode, Encode, PassWarning, PictureHashes } from '../../protocol.ts';
import { isGreyColour, type Rgba } from '../colour/colour.ts';
import type { Picture } from '../picture.ts';
import type { Shape } from '../pixels/geometry.ts';
import type { Pixels } from '../pixels/pixels.ts';
import type { BadArgument } from '../refusal.ts';
import { argumentsSchema, defaultsFiller, type Filled } from './parameter.ts';

/**
 * One operation of the registry: one file, one value. sharp is imported here as a type only, so that an API process
 * reads names and schemas without loading libvips.
 */
export type Operation = StepOperation | SettingOperation;

interface OperationBase<P extends TProperties> {
  /** One sentence that describes the operation. */
  description: string;
  /** The parameters as the operation's file declares them, for an op of the catalogue with the same parameters. */
  declared: P;
  /** TypeBox schema of the arguments, an object without additional properties; every property has a description. */
  parameters: TObject;
}

/** An operation that changes the picture. */
export interface StepOperation<P extends TProperties = TProperties> extends OperationBase<P> {
  kind: 'step';
  /**
   * CPU milliseconds per megapixel of the larger of the pictures before and after it, as measured on one core of a
   * server of 2024. The estimated time of a pass decides where it runs.
   */
  cpuMsPerMegapixel(params: Readonly<Record<string, unknown>>): number;
  /**
   * How it treats an animation: all frames at once as one strip; each frame as a separate picture; or only the first
   * frame, in which case a pass with this step reads no other.
   */
  frames: 'strip' | 'each' | 'first';
  /**
   * Whether flattening transparency before the step or after it gives the same picture. It does if the step moves or
   * averages pixels and does not depend on colours. Other steps get 8-bit RGB pixels.
   */
  commutesWithFlatten(params: Readonly<Record<string, unknown>>): boolean;
  /**
   * The profile of the result, if it is not the picture's own: sRGB, to which the pixels are then converted before the
   * step, or none, because the result is not RGB.
   */
  profile?(params: Readonly<Record<string, unknown>>): 'srgb' | 'none' | undefined;
  /**
   * Number of copies of the picture that it keeps in memory at once. The estimated memory of a pass decides when it is
   * admitted.
   */
  copies(params: Readonly<Record<string, unknown>>): number;
  /**
   * The size after it: `kept` as before, `given` by its arguments, dependent on anything else, or `found` in the
   * pixels, so that `size` is only its upper bound.
   */
  sizeAfter: 'kept' | 'given' | 'depends' | 'found';
  /** Whether transparency certainly stays unchanged. */
  keepsAlpha(params: Readonly<Record<string, unknown>>): boolean;
  /**
   * Whether the picture is certainly transparent after the step (true), certainly opaque (false), or as before
   * (undefined).
   */
  transparentAfter(params: Readonly<Record<string, unknown>>): boolean | undefined;
  /** Whether it certainly leaves every pixel unchanged; false when that depends on the picture. */
  changesNothing(params: Readonly<Record<string, unknown>>): boolean;
  /** Whether the picture is certainly grey after the step, given whether it was before. */
  greyAfter(wasGrey: boolean, params: Readonly<Record<string, unknown>>): boolean;
  /** The parameter that holds the id of a second asset. */
  readsSecondAsset?: string;
  /** Whether it hides content. Metadata that may hold a copy of the picture is then dropped. */
  conceals?: true;
  /**
   * Checks rules over several arguments, which the schema cannot express and which hold for every picture. Returns the
   * argument at fault. `apply` checks it too.
   */
  rule(params: Readonly<Record<string, unknown>>): BadArgument | undefined;
  /**
   * Checks whether the step can be done to a picture, by what is known of it without its pixels. Returns the argument
   * at fault. It is asked before a pass takes a slot, and `apply` checks it too.
   */
  fits(picture: Shape, params: Readonly<Record<string, unknown>>): BadArgument | undefined;
  /** Warnings about the step, by the size of the picture before it. */
  warningsAbout(input: Size, params: Readonly<Record<string, unknown>>): PassWarning[];
  /** Size of a frame after the step; an upper bound if it depends on the pixels. */
  size(input: Size, params: Readonly<Record<string, unknown>>): Size;
  /**
   * The size to which it scales the whole picture before all else, whatever size of it the decoder reads; undefined if
   * it needs every pixel.
   */
  scalesTo(input: Size, params: Readonly<Record<string, unknown>>): Size | undefined;
  /** @throws BadArgument on a parameter that does not fit this picture. */
  apply(picture: Picture, params: Readonly<Record<string, unknown>>, pass: PassContext): Promise<void>;
}

/** Sets how the input is read or how the result is written, for presets that write a whole pass as steps. */
export interface SettingOperation<P extends TProperties = TProperties> extends OperationBase<P> {
  kind: 'setting';
  settings(params: Readonly<Record<string, unknown>>): { decode?: Decode; encode?: Encode };
}

/** The context of a pass that a step may use besides the picture. */
export interface PassContext {
  sharp: typeof sharp;
  /** Colour of new areas: the pass's background, else transparent or, if the output has no alpha, white. */
  fill: Rgba;
  /**
   * The pixels of a second picture.
   * @param id of it in the task.
   * @param prepare processes the opened picture first; it knows its size.
   * @throws BadArgument on `key`, the parameter that names it, when the task does not include it or it cannot be
   * decoded.
   */
  layer(id: string, key: string, prepare: (opened: Sharp, size: Size) => Sharp): Promise<Pixels>;
  /** Facts that steps collect about the picture, for the answer. */
  found: { hashes?: PictureHashes; warnings: PassWarning[] };
}

type AlphaEffect = 'kept' | 'added' | 'dropped';

interface StepSource<P extends TProperties> {
  description: string;
  /** A property with a default may be left out and is then filled in. */
  parameters: P;
  cpuMsPerMegapixel: number | ((params: Filled<P>) => number);
  frames?: StepOperation['frames'];
  commutesWithFlatten?: true | ((params: Filled<P>) => boolean);
  profile?(params: Filled<P>): 'srgb' | 'none' | undefined;
  copies: number | ((params: Filled<P>) => number);
  /** Absent: it depends on anything. */
  sizeAfter?: 'kept' | 'given' | 'found';
  /** The effect on transparency; a function returns undefined if the rest of the pass decides, too. */
  alphaAfter: AlphaEffect | ((params: Filled<P>) => AlphaEffect | boolean | undefined);
  changesNothing?(params: Filled<P>): boolean;
  /**
   * The effect on grey. `keeps`: a grey picture stays grey if the colours among its arguments are grey. `makes`: any
   * picture becomes grey. `colours`, or nothing: a grey picture may get colours.
   */
  grey?: 'keeps' | 'makes' | ((params: Filled<P>) => 'keeps' | 'makes' | 'colours');
  readsSecondAsset?: string;
  conceals?: true;
  rule?(params: Filled<P>): BadArgument | undefined;
  fits?(picture: Shape, params: Filled<P>): BadArgument | undefined;
  /** Absent: it warns of nothing. */
  warningsAbout?(input: Size, params: Filled<P>): PassWarning[];
  size?(input: Size, params: Filled<P>): Size;
  /** Absent: it needs every pixel. */
  scalesTo?(input: Size, params: Filled<P>): Size | undefined;
  apply(picture: Picture, params: Filled<P>, pass: PassContext): Promise<void>;
}

/** Facts of an operation that works on one copy and keeps size and transparency. */
export const IN_PLACE = { copies: 1, sizeAfter: 'kept', alphaAfter: 'kept' } as const;

/**
 * Defines a step. By default it takes an animation as one strip, does not commute with flattening, may colour a grey
 * picture, may change something, and keeps the size, which is not relied on.
 */
export function defineStep<P extends TProperties>(source: StepSource<P>): StepOperation<P> {
  const { parameters, alphaAfter, changesNothing, rule, fits, size, scalesTo, profile, apply } = source;
  const filled = defaultsFiller(parameters);
  const warningsAbout: StepOperation['warningsAbout'] = (input, params) =>
    source.warningsAbout?.(input, filled(params)) ?? [];
  const alphaEffect = (params: Readonly<Record<string, unknown>>) =>
    typeof alphaAfter === 'function' ? alphaAfter(filled(params)) : alphaAfter;
  const isIdentity: StepOperation['changesNothing'] = (params) => changesNothing?.(filled(params)) ?? false;
  return {
    frames: 'strip',
    sizeAfter: 'depends',
    ...source,
    kind: 'step',
    declared: parameters,
    parameters: argumentsSchema(parameters),
    commutesWithFlatten: (params) => factOf(source.commutesWithFlatten, filled(params)) ?? false,
    cpuMsPerMegapixel: (params) => factOf(source.cpuMsPerMegapixel, filled(params)),
    copies: (params) => factOf(source.copies, filled(params)),
    changesNothing: isIdentity,
    keepsAlpha: (params) => alphaEffect(params) === 'kept',
    transparentAfter(params) {
      const effect = isIdentity(params) ? 'kept' : alphaEffect(params);
      if (effect === 'added' || effect === 'dropped') return effect === 'added';
      return effect === 'kept' ? undefined : effect;
    },
    size: (input, params) => size?.(input, filled(params)) ?? { width: input.width, height: input.height },
    scalesTo: (input, params) => scalesTo?.(input, filled(params)),
    warningsAbout,
    rule: (params) => rule?.(filled(params)),
    fits: (picture, params) => fits?.(picture, filled(params)),
    profile: (params) => profile?.(filled(params)),
    greyAfter(wasGrey, params) {
      const effect = factOf(source.grey, filled(params));
      if (effect === 'keeps') return wasGrey && hasGreyColours(parameters, filled(params));
      return effect === 'makes';
    },
    async apply(picture, params, pass) {
      const refusal = rule?.(filled(params)) ?? fits?.(picture, filled(params));
      if (refusal !== undefined) throw refusal;
      pass.found.warnings.push(...warningsAbout(picture, params));
      await apply(picture, filled(params), pass);
    },
  };
}

/** A fact of an operation that may depend on its arguments. */
function factOf<P, V extends number | string | boolean | undefined>(
  fact: V | ((params: P) => V),
  params: P,
): V {
  return typeof fact === 'function' ? fact(params) : fact;
}

function hasGreyColours(parameters: TProperties, params: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(params).every(
    ([name, value]) => parameters[name]?.format !== 'css-color' || isGreyColour(value),
  );
}

export function defineSetting<P extends TProperties>(source: {
  description: string;
  parameters: P;
  settings(params: Filled<P>): { decode?: Decode; encode?: Encode };
}): SettingOperation<P> {
  const { description, parameters, settings } = source;
  const filled = defaultsFiller(parameters);
  return {
    kind: 'setting',
    description,
    declared: parameters,
    parameters: argumentsSchema(parameters),
    settings: (params) => settings(filled(params)),
  };
}
