import type { TObject, TProperties } from '@sinclair/typebox';
import type sharp from 'sharp';
import type { Sharp } from 'sharp';
import type { Decode, Encode, PassWarning, PictureHashes } from '../../protocol.ts';
import { isGreyColour, type Rgba } from '../colour/colour.ts';
import type { Picture } from '../picture.ts';
import type { Size } from '../pixels/geometry.ts';
import type { Pixels } from '../pixels/pixels.ts';
import type { BadArgument } from '../refusal.ts';
import { contract, type Filled, filler } from './parameter.ts';

/**
 * One operation of the processing registry: one file, one value. sharp is imported here as a type only, so that an API
 * process reads names and schemas without loading libvips.
 */
export type Operation = StepOperation | SettingOperation;

interface OperationBase<P extends TProperties> {
  /** One sentence that says what the operation does. */
  description: string;
  /** The parameters as the operation's file declares them, for an op of the catalogue that takes the same. */
  declared: P;
  /** TypeBox schema of the arguments, an object without additional properties; every property has a description. */
  parameters: TObject;
}

/** Changes the picture. */
export interface StepOperation<P extends TProperties = TProperties> extends OperationBase<P> {
  kind: 'step';
  /**
   * CPU time it may take for a megapixel of the larger of the pictures before and after it, as measured on one core of a
   * server of 2024: what a pass is estimated to take decides where it runs.
   */
  cpuMsPerMegapixel(params: Readonly<Record<string, unknown>>): number;
  /**
   * How it treats a picture that moves: the frames as one strip, in one go; each as a picture of its own; or the first
   * frame alone, so that a pass with this step reads no other.
   */
  frames: 'strip' | 'each' | 'first';
  /**
   * Whether flattening transparency before it or after it makes the same picture: it moves or averages pixels and knows
   * nothing of colours. Other steps are given RGB pixels of 8 bits.
   */
  commutesWithFlatten(params: Readonly<Record<string, unknown>>): boolean;
  /**
   * Which profile the result carries, where it is not the picture's own: that of sRGB, which then is what the step finds,
   * or none, because it is not RGB.
   */
  profile?(params: Readonly<Record<string, unknown>>): 'srgb' | 'none' | undefined;
  /** Copies of the picture that it keeps in memory at once: what a pass is estimated to take decides when it is let in. */
  copies(params: Readonly<Record<string, unknown>>): number;
  /** What is known of the size after it: as before, what its arguments say, or neither. */
  sizeAfter: 'kept' | 'said' | 'depends';
  /** Whether the picture certainly is transparent after the step, certainly is not, or as it was before (undefined). */
  transparentAfter(params: Readonly<Record<string, unknown>>): boolean | undefined;
  /** Whether it certainly leaves every pixel as it was; false when that depends on the picture. */
  changesNothing(params: Readonly<Record<string, unknown>>): boolean;
  /** Whether a picture is certainly grey after the step, of which it is known whether it was before. */
  greyAfter(wasGrey: boolean, params: Readonly<Record<string, unknown>>): boolean;
  /** The parameter that holds the id of a second asset. */
  readsSecondAsset?: string;
  /** It hides content: metadata that may hold a copy of the picture is dropped. */
  conceals?: true;
  /** What one schema per argument cannot say, whatever the picture is: the argument at fault. `apply` keeps it too. */
  rule(params: Readonly<Record<string, unknown>>): BadArgument | undefined;
  /** Size of a frame after the step; an upper bound where the pixels decide. */
  size(input: Size, params: Readonly<Record<string, unknown>>): Size;
  /** @throws BadArgument on a parameter that this picture cannot be treated with. */
  apply(picture: Picture, params: Readonly<Record<string, unknown>>, pass: PassContext): Promise<void>;
}

/** Says how the input is read or how the result is written, for presets that say all of a pass in registry form. */
export interface SettingOperation<P extends TProperties = TProperties> extends OperationBase<P> {
  kind: 'setting';
  settings(params: Readonly<Record<string, unknown>>): { decode?: Decode; encode?: Encode };
}

/** What a step may use beside the picture. */
export interface PassContext {
  sharp: typeof sharp;
  /** Colour of room that opens up: the pass's background, else transparent or, where the output cannot be, white. */
  fill: Rgba;
  /**
   * The pixels of a second asset.
   * @param prepare says what is done to it first.
   * @throws BadArgument on `key`, the parameter it is named in, when the task does not bring it or it cannot be decoded.
   */
  layer(assetId: string, key: string, prepare: (opened: Sharp) => Sharp): Promise<Pixels>;
  /** What steps found out of the picture, for the answer. */
  found: { hashes?: PictureHashes; warnings: PassWarning[] };
}

interface StepSource<P extends TProperties> {
  description: string;
  /** A property with a default may be left out and is filled in. */
  parameters: P;
  cpuMsPerMegapixel: number | ((params: Filled<P>) => number);
  frames?: StepOperation['frames'];
  commutesWithFlatten?: true | ((params: Filled<P>) => boolean);
  profile?(params: Filled<P>): 'srgb' | 'none' | undefined;
  copies: number | ((params: Filled<P>) => number);
  sizeAfter: StepOperation['sizeAfter'];
  /** What it makes of transparency; a function answers undefined where that stays as it was. */
  alphaAfter: 'kept' | 'added' | 'dropped' | ((params: Filled<P>) => boolean | undefined);
  changesNothing: 'never' | ((params: Filled<P>) => boolean);
  /** Whether it leaves a grey picture grey, as far as the colours among its arguments are grey, or makes any picture so. */
  grey?: 'keeps' | 'makes' | ((params: Filled<P>) => 'keeps' | 'makes');
  readsSecondAsset?: string;
  conceals?: true;
  rule?(params: Filled<P>): BadArgument | undefined;
  size?(input: Size, params: Filled<P>): Size;
  apply(picture: Picture, params: Filled<P>, pass: PassContext): Promise<void>;
}

/** A step: by default it takes an animation as one strip, does not commute with flattening, may colour a grey picture and keeps the size. */
export function step<P extends TProperties>(source: StepSource<P>): StepOperation<P> {
  const {
    parameters,
    cpuMsPerMegapixel,
    copies,
    alphaAfter,
    changesNothing,
    rule,
    size,
    profile,
    grey,
    commutesWithFlatten,
    apply,
  } = source;
  const isIdentity = changesNothing === 'never' ? () => false : changesNothing;
  const filled = filler(parameters);
  return {
    frames: 'strip',
    ...source,
    kind: 'step',
    declared: parameters,
    parameters: contract(parameters),
    commutesWithFlatten: (params) =>
      typeof commutesWithFlatten === 'function'
        ? commutesWithFlatten(filled(params))
        : commutesWithFlatten === true,
    cpuMsPerMegapixel: (params) =>
      typeof cpuMsPerMegapixel === 'number' ? cpuMsPerMegapixel : cpuMsPerMegapixel(filled(params)),
    copies: (params) => (typeof copies === 'number' ? copies : copies(filled(params))),
    changesNothing: (params) => isIdentity(filled(params)),
    transparentAfter(params) {
      if (alphaAfter === 'kept' || isIdentity(filled(params))) return undefined;
      return typeof alphaAfter === 'function' ? alphaAfter(filled(params)) : alphaAfter === 'added';
    },
    size: (input, params) => size?.(input, filled(params)) ?? { width: input.width, height: input.height },
    rule: (params) => rule?.(filled(params)),
    profile: (params) => profile?.(filled(params)),
    greyAfter(wasGrey, params) {
      const effect = typeof grey === 'function' ? grey(filled(params)) : grey;
      return (
        effect === 'makes' || (effect === 'keeps' && wasGrey && hasGreyColours(parameters, filled(params)))
      );
    },
    async apply(picture, params, pass) {
      const refusal = rule?.(filled(params));
      if (refusal !== undefined) throw refusal;
      await apply(picture, filled(params), pass);
    },
  };
}

function hasGreyColours(parameters: TProperties, params: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(params).every(
    ([name, value]) => parameters[name]?.format !== 'css-color' || isGreyColour(value),
  );
}

export function setting<P extends TProperties>(source: {
  description: string;
  parameters: P;
  settings(params: Filled<P>): { decode?: Decode; encode?: Encode };
}): SettingOperation<P> {
  const filled = filler(source.parameters);
  return {
    kind: 'setting',
    description: source.description,
    declared: source.parameters,
    parameters: contract(source.parameters),
    settings: (params) => source.settings(filled(params)),
  };
}
