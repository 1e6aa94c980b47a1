import { LRUCache } from 'lru-cache';
import type { ImageFacts, ImagePass, OutputFormat } from '../../../workers/protocol.ts';
import type { ApiError } from '../../platform/http/errors/errors.ts';
import { createExpiringCache } from '../../platform/values/expiring-cache.ts';
import { normalizeParameterSpelling, parseOpParameters } from '../catalogue/checks/spelling.ts';
import { findOp } from '../catalogue/index.ts';
import { compilePass, type SinglePassObstacle } from '../catalogue/plan/compile.ts';
import { type PresetStep, type RequestedStep, savedSteps, sentSteps } from '../catalogue/plan/step.ts';
import type { ModelsFile } from '../models/models.ts';
import type { PresetsSlice } from '../presets/open.ts';
import { type PresetContent, presetCacheTagOf } from '../presets/preset.ts';
import type { FoundPreset } from '../presets/reading.ts';
import type { AddressExtension, AddressOp, AddressWork, RequestedWidth } from './address.ts';

/**
 * The widths that are allowed for a preset that declares none. Image loaders of web frameworks request these widths.
 */
export const DEFAULT_WIDTHS: readonly number[] = [
  16, 32, 48, 64, 96, 128, 256, 384, 640, 750, 828, 1080, 1200, 1920, 2048, 3840,
];

const MAX_CACHED_RECIPES = 1_000;
/** The longest text of ops for which the recipe is cached. Longer texts rarely repeat. */
const MAX_CACHED_OPS_CHARACTERS = 500;
/** How long a process uses a cached preset before it is read again. */
const PRESET_CACHE_TTL_MS = 500;
/**
 * The AVIF effort that is used when several formats are tried. It is the lowest one, because at any higher effort AVIF
 * takes longer to encode than WebP.
 */
const FASTEST_AVIF_EFFORT = 0;

/** The work that makes a picture from a source, before the address adds a width and a format. */
export interface PictureRecipe {
  /** The name under which usage counts the work: an op's name, `steps`, or `preset`. */
  op: string;
  steps: readonly RequestedStep[];
  /** The widths that an address may contain, ascending; null if it may contain none. */
  ladder: readonly number[] | null;
  /** The picture that is served while the source is unreachable; null if the error is sent instead. */
  fallback: NonNullable<PresetContent['fallback']> | null;
  /**
   * The cache tag of the preset: `preset-<id>-<version>`. It is purged when the version is deleted. Null for ops, which
   * cannot be deleted.
   */
  tag: string | null;
}

/** The recipe of a preset: the promise of its read, and the recipe itself once it was read. */
interface CachedPresetRecipe {
  reading: Promise<PictureRecipe>;
  recipe?: PictureRecipe;
}

/** The width and the format that an address adds to its recipe. */
interface AddressAddition {
  /** The width in pixels. Absent: the recipe determines the size. */
  width?: number | undefined;
  /** The format of the result. Absent: the recipe determines the format. */
  format?: OutputFormat | undefined;
  /** Whether the result is one of several formats that are tried, of which the smallest file is sent. */
  isOneOfSeveral?: boolean;
}

/** Finds the recipes of addresses, compiles them to passes, and caches both. */
export class PictureRecipes {
  readonly #models: ModelsFile;
  readonly #presets: Pick<PresetsSlice, 'find'>;
  readonly #presetRecipes: LRUCache<string, CachedPresetRecipe>;
  /** Recipes by the text of their ops. The addresses on a page usually have the same ops and different sources. */
  readonly #opsRecipes = new LRUCache<string, PictureRecipe>({ max: MAX_CACHED_RECIPES });
  /** The compiled passes of each recipe, with one entry per width and format that addresses have added. */
  readonly #passes = new WeakMap<PictureRecipe, Map<string, ImagePass>>();

  constructor(models: ModelsFile, presets: Pick<PresetsSlice, 'find'>, now: () => Date) {
    this.#models = models;
    this.#presets = presets;
    this.#presetRecipes = createExpiringCache(MAX_CACHED_RECIPES, PRESET_CACHE_TTL_MS, () => now().getTime());
  }

  /**
   * The recipe that an address requests.
   * @throws ApiError preset_not_found, or invalid_param on `steps[i]…` for ops that cannot run.
   */
  async find(accountId: string, work: AddressWork): Promise<PictureRecipe> {
    if (work.kind === 'preset') return this.#findPreset(accountId, work);
    const known = this.#opsRecipes.get(work.text);
    if (known !== undefined) return known;
    const recipe = recipeOfSteps(sentSteps(work.ops.map(stepOfOp)));
    if (work.text.length <= MAX_CACHED_OPS_CHARACTERS) this.#opsRecipes.set(work.text, recipe);
    return recipe;
  }

  /**
   * Whether the work of a cached address is still the same. Ops never change. For a preset, the tag of its version must
   * equal the tag that was read within the last half second, because another preset may have taken the name of a
   * deleted one.
   */
  isUnchanged(accountId: string, work: AddressWork, tag: string | null): boolean {
    return work.kind === 'ops' || this.#presetRecipes.get(cacheKeyOf(accountId, work))?.recipe?.tag === tag;
  }

  /** Forgets the cached presets of an account, so that they are read again. */
  forget(accountId: string): void {
    for (const key of this.#presetRecipes.keys())
      if (key.startsWith(`${accountId}/`)) this.#presetRecipes.delete(key);
  }

  /**
   * The recipe as a single pass.
   * @throws ApiError invalid_param on the step or the preset at fault.
   */
  compilePass(recipe: PictureRecipe, addition: AddressAddition = {}): ImagePass {
    const added = additionSteps(addition);
    const key = JSON.stringify(added);
    const passes = this.#passes.get(recipe) ?? new Map<string, ImagePass>();
    const known = passes.get(key);
    if (known !== undefined) return known;
    const { pass } = compilePass([...recipe.steps, ...sentSteps(added)], this.#models, undeliverableError);
    this.#passes.set(recipe, passes.set(key, pass));
    return pass;
  }

  #findPreset(accountId: string, work: PresetWork): Promise<PictureRecipe> {
    const key = cacheKeyOf(accountId, work);
    const known = this.#presetRecipes.get(key);
    if (known !== undefined) return known.reading;
    const reading = this.#presets.find(accountId, presetReferenceOf(work), 'preset').then(recipeOfPreset);
    const cached: CachedPresetRecipe = { reading };
    this.#presetRecipes.set(key, cached);
    reading.then(
      (recipe) => {
        cached.recipe = recipe;
      },
      // A failure is not cached, because a missing preset may be created at any time, and a store may respond again.
      () => this.#presetRecipes.delete(key),
    );
    return reading;
  }
}

type PresetWork = Extract<AddressWork, { kind: 'preset' }>;

function presetReferenceOf({ idOrSlug, version }: PresetWork): string {
  return `${idOrSlug}@${version}`;
}

function cacheKeyOf(accountId: string, work: PresetWork): string {
  return `${accountId}/${presetReferenceOf(work)}`;
}

export function recipeOfPreset({ preset, version }: FoundPreset): PictureRecipe {
  return {
    op: 'preset',
    steps: savedSteps(version.steps, 'preset'),
    ladder: version.widths ?? DEFAULT_WIDTHS,
    fallback: version.fallback ?? null,
    tag: presetCacheTagOf(preset._id, version.version),
  };
}

export function recipeOfSteps(steps: readonly RequestedStep[]): PictureRecipe {
  const [only, ...others] = steps;
  const op = others.length === 0 ? (only?.op ?? 'steps') : 'steps';
  return { op, steps, ladder: null, fallback: null, tag: null };
}

/**
 * The width of the picture in pixels. A width without a density must itself be one of the ladder. With a density, it is
 * the smallest width of the ladder that is at least width × density.
 * @returns null if no width of the ladder fits.
 */
export function allowedWidthFor(ladder: readonly number[], { width, dpr }: RequestedWidth): number | null {
  if (dpr === null) return ladder.includes(width) ? width : null;
  // The product is rounded, because binary fractions only approximate a density with two decimals: 100 × 1.1 is a
  // little more than 110.
  const pixels = Math.round(width * dpr * 100) / 100;
  return ladder.find((rung) => rung >= pixels) ?? null;
}

/** Makes a step of an op in an address. Each parameter is parsed as its declared type. */
function stepOfOp({ op: name, parameters }: AddressOp): PresetStep {
  const op = findOp(name);
  const isKnown = op?.runs === 'pass';
  const read = isKnown
    ? normalizeParameterSpelling(op, parseOpParameters(op, parameters))
    : { ...parameters };
  return { op: name, ...(Object.keys(read).length > 0 && { parameters: read }) };
}

/**
 * The steps that an address adds to its recipe: a resize to its width, which never enlarges, and a conversion to its
 * format. Encoder settings of the recipe for another format are dropped.
 */
function additionSteps({ width, format, isOneOfSeveral = false }: AddressAddition): PresetStep[] {
  const effort = isOneOfSeveral && format === 'avif' ? { effort: FASTEST_AVIF_EFFORT } : {};
  return [
    ...(width === undefined ? [] : [{ op: 'resize', parameters: { width } }]),
    ...(format === undefined ? [] : [{ op: 'convert', parameters: { format, ...effort } }]),
  ];
}

function undeliverableError({ does, step }: SinglePassObstacle): ApiError {
  const field = step.findField('op');
  const message = `${step.findField('').name} ${does}: an address takes deterministic steps that read one picture and make one.`;
  return field.refuse(message);
}

export function formatOfExtension(extension: Exclude<AddressExtension, 'auto'>): OutputFormat {
  return extension === 'jpg' ? 'jpeg' : extension;
}

/** The facts about a source that are known before it is decoded. */
export type SourceFacts = Pick<ImageFacts, 'format' | 'hasAlpha' | 'frames'>;

/**
 * The formats that `auto` tries, of which the smallest file is sent: AVIF and WebP if Accept names them, and the format
 * of the source. If browsers cannot read that format, PNG takes its place for a picture with transparency, and JPEG for
 * any other. For an animation AVIF is not tried, because the animation must be kept.
 */
export function formatsForClient(accept: string | undefined, source: SourceFacts): OutputFormat[] {
  const isAnimated = source.frames > 1;
  const modern = MODERN_FORMATS.filter(
    (format) => acceptsFormat(accept, format) && !(isAnimated && format === 'avif'),
  );
  const own = universalFormatFor(source);
  return modern.includes(own) ? modern : [...modern, own];
}

/**
 * The modern formats that Accept names. An `auto` address depends on nothing else in that header: clients with the same
 * result get the same picture.
 */
export function acceptedModernFormats(accept: string | undefined): OutputFormat[] {
  return formatsForClient(accept, { format: 'jpeg', hasAlpha: false, frames: 1 });
}

const MODERN_FORMATS: readonly OutputFormat[] = ['avif', 'webp'];
const UNIVERSAL_FORMATS: readonly OutputFormat[] = ['jpeg', 'png', 'gif'];

/** A format that every browser reads, and that loses as little of the source as possible. */
function universalFormatFor({ format, hasAlpha, frames }: SourceFacts): OutputFormat {
  const universal = UNIVERSAL_FORMATS.find((one) => one === format);
  if (universal !== undefined) return universal;
  if (frames > 1 && format === 'webp') return 'gif';
  return hasAlpha ? 'png' : 'jpeg';
}

/**
 * Whether Accept names the format itself. A wildcard is not enough, because clients that know neither AVIF nor WebP
 * send it as well.
 */
function acceptsFormat(accept: string | undefined, format: OutputFormat): boolean {
  return (accept ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === `image/${format}` && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
