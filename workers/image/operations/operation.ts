import type { TObject, TProperties } from '@sinclair/typebox';
import type sharp from 'sharp';
import type { Sharp } from 'sharp';
import type { Size } from '../../formats/size.ts';
import type { DecodeOptions, EncodeOptions, PassWarning, PlaceholderHashes } from '../../protocol.ts';
import { isGreyColour } from '../colour/colour.ts';
import type { PassPicture } from '../picture.ts';
import type { PictureShape } from '../pixels/geometry.ts';
import type { Pixels, Rgba } from '../pixels/pixels.ts';
import type { BadArgumentError } from '../refusal.ts';
import { argumentsSchema, createDefaultsFiller, type FilledArguments } from './arguments.ts';

/**
 * One operation of the registry, as a value. Operations import sharp as a type only, so that an API process reads names
 * and schemas without loading libvips.
 */
export type Operation = StepOperation | SettingOperation;

interface OperationBase<P extends TProperties> {
  description: string;
  /**
   * The parameters as the operation's file declares them. An op of the catalogue with the same parameters uses them
   * too.
   */
  declared: P;
  /** TypeBox schema of the arguments: an object without additional properties. Every property has a description. */
  parameters: TObject;
}

type SentArguments = Readonly<Record<string, unknown>>;

/**
 * The members of a step that its definition provides. Most of them are optional. `defineStepOperation` adds the missing
 * ones.
 * @template A the arguments that the members receive: as sent, or with their defaults.
 */
interface StepMembers<A> {
  /**
   * The frames that the step processes at once: all frames as one strip, each frame as a separate picture, or only the
   * first frame. A pass with a `first` step reads no other frame.
   */
  frames: 'strip' | 'each' | 'first';
  /**
   * How the size after the step is known: `kept` as before, `given` by its arguments, `depends` on other facts, or
   * `found` in the pixels. For `found`, `size` returns only an upper bound.
   */
  sizeAfter: 'kept' | 'given' | 'depends' | 'found';
  /**
   * The profile of the result, if it is not the picture's own: sRGB, to which the pixels are converted before the step,
   * or none, because the result is not RGB.
   */
  profile(params: A): 'srgb' | 'none' | undefined;
  /** Whether the step certainly leaves every pixel unchanged; false when that depends on the picture. */
  changesNothing(params: A): boolean;
  /** The parameter that holds the id of a second asset. */
  readsSecondAsset?: string;
  /**
   * Whether sharp runs the step before it scales in the same pipeline. The decoder can then still scale the picture for
   * a later step.
   */
  allowsScaleOnLoad?: true;
  /** Whether the step hides content. Metadata that may hold a copy of the picture is then dropped. */
  hidesContent?: true;
  /**
   * Checks what the schema cannot express and what holds for every picture, such as a rule about several arguments.
   * Returns the error on the wrong argument. `apply` repeats the check.
   */
  findInvalidArgument(params: A): BadArgumentError | undefined;
  /**
   * Checks, without the pixels, whether the step can be applied to a picture. Returns the error on the argument that
   * does not fit. The check runs before a pass takes a slot, and `apply` repeats it.
   */
  findFitError(picture: PictureShape, params: A): BadArgumentError | undefined;
  /**
   * Warnings about the step.
   * @param input the size of the picture before the step.
   */
  warningsAbout(input: Size, params: A): PassWarning[];
  /** The size of a frame after the step; an upper bound if the size depends on the pixels. */
  size(input: Size, params: A): Size;
  /**
   * The size to which the step scales the whole picture first, from whatever size the decoder reads. Undefined if the
   * step needs every pixel.
   */
  scalesTo(input: Size, params: A): Size | undefined;
  /**
   * Applies the step to the picture.
   * @throws BadArgumentError on a parameter that does not fit this picture.
   */
  apply(picture: PassPicture, params: A, pass: PassContext): Promise<void>;
}

/** An operation that changes the picture. */
export interface StepOperation<P extends TProperties = TProperties>
  extends OperationBase<P>,
    StepMembers<SentArguments> {
  kind: 'step';
  /**
   * CPU milliseconds per megapixel of the larger picture, before or after the step, as measured on one core of a server
   * of 2024. The estimated time of a pass decides where it runs.
   */
  cpuMsPerMegapixel(params: SentArguments): number;
  /**
   * Whether flattening the transparency before or after the step gives the same picture. It does if the step moves or
   * averages pixels and does not depend on colours. All other steps get 8-bit RGB pixels.
   */
  commutesWithFlatten(params: SentArguments): boolean;
  /**
   * The number of copies of the picture that the step keeps in memory at once. A pass is admitted by its estimated
   * memory.
   */
  copies(params: SentArguments): number;
  /** Whether the step certainly leaves transparency unchanged. */
  keepsAlpha(params: SentArguments): boolean;
  /**
   * Whether the picture is certainly transparent after the step (true), certainly opaque (false), or as before
   * (undefined).
   */
  transparentAfter(params: SentArguments): boolean | undefined;
  /**
   * Whether the picture is certainly grey after the step.
   * @param wasGrey whether it was grey before.
   */
  greyAfter(wasGrey: boolean, params: SentArguments): boolean;
}

/**
 * An operation that sets how the input is read or how the result is written, for presets that write a whole pass as
 * steps.
 */
export interface SettingOperation<P extends TProperties = TProperties> extends OperationBase<P> {
  kind: 'setting';
  settings(params: SentArguments): { decode?: DecodeOptions; encode?: EncodeOptions };
}

/** What a step may use in addition to the picture. */
export interface PassContext {
  sharp: typeof sharp;
  /**
   * The colour of new areas: the background of the pass. Without a background it is transparent or, if the output has
   * no alpha, white.
   */
  fill: Rgba;
  /**
   * Reads the pixels of a second picture.
   * @param id its id in the task.
   * @param prepare is called first with the opened picture and its size, to process it.
   * @throws BadArgumentError on `key`, the parameter that names the picture, when the task does not include it or it
   * cannot be decoded.
   */
  layer(id: string, key: string, prepare: (opened: Sharp, size: Size) => Sharp): Promise<Pixels>;
  /** What steps report in addition to the picture: hashes and warnings. */
  sideResults: { hashes?: PlaceholderHashes; warnings: PassWarning[] };
}

type AlphaEffect = 'kept' | 'added' | 'dropped';

interface StepDefinition<P extends TProperties>
  extends Partial<Omit<StepMembers<FilledArguments<P>>, 'apply'>>,
    Pick<StepMembers<FilledArguments<P>>, 'apply'> {
  description: string;
  /** Parameters with a default are optional for callers. `apply` always gets a value. */
  parameters: P;
  cpuMsPerMegapixel: number | ((params: FilledArguments<P>) => number);
  commutesWithFlatten?: true | ((params: FilledArguments<P>) => boolean);
  copies: number | ((params: FilledArguments<P>) => number);
  /** The effect on transparency. A function returns undefined if the effect also depends on the rest of the pass. */
  alphaAfter: AlphaEffect | ((params: FilledArguments<P>) => AlphaEffect | boolean | undefined);
  /**
   * The effect on grey. `keeps`: a grey picture stays grey if the colours among its arguments are grey. `makes`: any
   * picture becomes grey. `colours`, the default: a grey picture may get colours.
   */
  grey?: 'keeps' | 'makes' | ((params: FilledArguments<P>) => 'keeps' | 'makes' | 'colours');
}

/** The properties of operations that work on one copy and keep size and transparency. */
export const IN_PLACE_EFFECTS = { copies: 1, sizeAfter: 'kept', alphaAfter: 'kept' } as const;

/**
 * Defines a step. By default, a step processes an animation as one strip, needs every pixel, does not commute with
 * flattening, may colour a grey picture, may change something, has no warnings and keeps the size. Its size counts as
 * `depends` unless the definition says otherwise.
 */
export function defineStepOperation<P extends TProperties>(source: StepDefinition<P>): StepOperation<P> {
  const { parameters } = source;
  const filled = createDefaultsFiller(parameters);
  const alphaEffect = (params: SentArguments) => resolveProperty(source.alphaAfter, filled(params));
  const changesNothing = (params: SentArguments) => source.changesNothing?.(filled(params)) ?? false;
  return {
    frames: 'strip',
    sizeAfter: 'depends',
    ...source,
    kind: 'step',
    declared: parameters,
    parameters: argumentsSchema(parameters),
    commutesWithFlatten: (params) => resolveProperty(source.commutesWithFlatten, filled(params)) ?? false,
    cpuMsPerMegapixel: (params) => resolveProperty(source.cpuMsPerMegapixel, filled(params)),
    copies: (params) => resolveProperty(source.copies, filled(params)),
    changesNothing,
    keepsAlpha: (params) => alphaEffect(params) === 'kept',
    transparentAfter(params) {
      const effect = changesNothing(params) ? 'kept' : alphaEffect(params);
      if (effect === 'added' || effect === 'dropped') return effect === 'added';
      return effect === 'kept' ? undefined : effect;
    },
    size: (input, params) =>
      source.size?.(input, filled(params)) ?? { width: input.width, height: input.height },
    scalesTo: (input, params) => source.scalesTo?.(input, filled(params)),
    warningsAbout: (input, params) => source.warningsAbout?.(input, filled(params)) ?? [],
    findInvalidArgument: (params) => source.findInvalidArgument?.(filled(params)),
    findFitError: (picture, params) => source.findFitError?.(picture, filled(params)),
    profile: (params) => source.profile?.(filled(params)),
    greyAfter(wasGrey, params) {
      const effect = resolveProperty(source.grey, filled(params));
      if (effect === 'keeps') return wasGrey && hasOnlyGreyColours(parameters, filled(params));
      return effect === 'makes';
    },
    async apply(picture, sent, pass) {
      const params = filled(sent);
      const refusal = source.findInvalidArgument?.(params) ?? source.findFitError?.(picture, params);
      if (refusal !== undefined) throw refusal;
      pass.sideResults.warnings.push(...(source.warningsAbout?.(picture, params) ?? []));
      await source.apply(picture, params, pass);
    },
  };
}

/** The value of a property that may depend on the arguments. */
function resolveProperty<P, V extends number | string | boolean | undefined>(
  fact: V | ((params: P) => V),
  params: P,
): V {
  return typeof fact === 'function' ? fact(params) : fact;
}

function hasOnlyGreyColours(parameters: TProperties, params: SentArguments): boolean {
  return Object.entries(params).every(
    ([name, value]) => parameters[name]?.format !== 'css-color' || isGreyColour(value),
  );
}

export function defineSettingOperation<P extends TProperties>(source: {
  description: string;
  parameters: P;
  settings(params: FilledArguments<P>): { decode?: DecodeOptions; encode?: EncodeOptions };
}): SettingOperation<P> {
  const { description, parameters, settings } = source;
  const filled = createDefaultsFiller(parameters);
  return {
    kind: 'setting',
    description,
    declared: parameters,
    parameters: argumentsSchema(parameters),
    settings: (params) => settings(filled(params)),
  };
}
