import type { Size } from '../../../workers/formats/size.ts';
import type { ImagePass } from '../../../workers/protocol.ts';
import type { StoredFile } from '../../imaging/images/image-call.ts';
import { previewPasses } from '../../imaging/images/preview.ts';
import {
  ApiError,
  exclusiveFieldError,
  invalidParamError,
  type SentField,
  sentFieldAt,
} from '../../platform/http/errors/errors.ts';
import { escapeHtmlText } from '../../platform/pages/highlight.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { AssetReader } from '../assets/content/reader.ts';
import { normalizeParameterSpelling } from '../catalogue/checks/spelling.ts';
import { findOp } from '../catalogue/index.ts';
import {
  checkJsonSize,
  checkStepSizes,
  type PresetStep,
  sentSteps,
  toRequestedStep,
} from '../catalogue/plan/step.ts';
import type { PresetsSlice } from '../presets/open.ts';
import type { FoundPreset } from '../presets/reading.ts';
import { checkPresetWidths } from '../presets/rules.ts';
import { parseImageSource } from '../transforms/input.ts';
import { ADDRESS_PREFIX, MAX_ADDRESS_OPS, signatureOf, signedMessageOf } from './address.ts';
import type { SigningKeyDocument, SigningKeysStore } from './keys.ts';
import {
  formatOfExtension,
  type PictureRecipe,
  type PictureRecipes,
  recipeOfPreset,
  recipeOfSteps,
} from './recipes.ts';
import type { DeliveryLink, NewDeliveryLink, NewDeliveryLinks } from './schema.ts';

/** The name of the key that is made automatically for an account without keys. */
const DEFAULT_KEY_NAME = 'delivery-links';
/**
 * The maximum width for browsers without srcset. If the preset has no width as small as this, its smallest one is used.
 */
const FALLBACK_WIDTH_PX = 1_080;

interface LinksOptions {
  keys: SigningKeysStore;
  recipes: PictureRecipes;
  presets: Pick<PresetsSlice, 'find' | 'saveOnce'>;
  assets: Pick<AssetReader, 'find'>;
  publicUrl: () => string;
  now: () => Date;
}

/**
 * The maximum length of the work in an address. Longer work is saved as a preset, because clients and caches refuse
 * long addresses.
 */
const MAX_STEPS_TEXT_CHARACTERS = 2_000;

interface CompiledLinkWork {
  /** The work as the address contains it; null if it must be saved as a preset first. */
  what: string | null;
  recipe: PictureRecipe;
  steps: readonly PresetStep[];
}

/** The work of a link, and the text that stands for it in the address. */
interface LinkedTransform {
  what: string;
  recipe: PictureRecipe;
  /** The preset that was saved for the work, as `<slug>@<version>`; absent if none was saved. */
  saved?: string;
}

/** Makes signed addresses for callers that cannot compute the HMAC themselves. */
export class SignedLinks {
  readonly #options: LinksOptions;

  constructor(options: LinksOptions) {
    this.#options = options;
  }

  /** Returns the newest key of the account, and makes one if there is none. */
  async ensureSigningKey(accountId: string): Promise<SigningKeyDocument> {
    const { keys, now } = this.#options;
    const [newest] = await keys.list(accountId);
    return newest ?? (await keys.insert(accountId, DEFAULT_KEY_NAME, now()));
  }

  /**
   * Makes one link. Its work is checked in the same way as it will be for a request to the address.
   * @param where the prefix of field names in errors: '', or `links[2].`.
   * @throws ApiError asset_not_found, preset_not_found, or invalid_param on the field at fault.
   */
  async makeLink(key: SigningKeyDocument, sent: NewDeliveryLink, where: string): Promise<DeliveryLink> {
    const { named, file } = await this.#findSource(key.accountId, sent, where);
    const { what, recipe, saved } = await this.#findLinkedTransform(key.accountId, sent, where);
    const { widths, expiresInSeconds } = sent;
    const extension = sent.format ?? (widths === undefined ? undefined : 'auto');
    const format = extension === undefined || extension === 'auto' ? undefined : formatOfExtension(extension);
    const pass = this.#options.recipes.compilePass(recipe, { width: widths?.at(-1), format });
    const size = file === null ? null : await predictSize(file, pass);
    const path = `${what}/${named}`;
    const nowSeconds = Math.floor(this.#options.now().getTime() / 1000);
    const end = expiresInSeconds === undefined ? null : nowSeconds + expiresInSeconds;
    const base = `${this.#options.publicUrl()}${ADDRESS_PREFIX}${key._id}`;
    const sign = (signed: string, address = signed) =>
      signedMessageOf(`${base}/${signatureOf(key.secret, signedMessageOf(signed, end))}/${address}`, end);
    const sources =
      widths === undefined
        ? { url: sign(extension === undefined ? path : `${path}.${extension}`) }
        : imageSourcesOf(selectRungs(widths, size), (width) =>
            sign(`${path}/*.${extension}`, `${path}/${width}.${extension}`),
          );
    return { ...sources, html: imageElement(sources, size), ...withoutAbsentFields({ preset: saved }) };
  }

  /** The source, both as the address contains it (`named`) and, for an asset, as its file. */
  async #findSource(accountId: string, { assetId, url }: NewDeliveryLink, where: string) {
    const names = { assetId: `${where}assetId`, url: `${where}url` };
    const source = parseImageSource({ assetId, url }, names);
    if (source?.kind === 'url')
      return { named: `url:${Buffer.from(source.url).toString('base64url')}`, file: null };
    if (source?.kind !== 'asset')
      throw invalidParamError(names.assetId, 'The picture is missing: give assetId or url.');
    const file = await this.#options.assets.find(accountId, source.assetId, names.assetId);
    return { named: source.assetId, file };
  }

  /**
   * Checks the ops and presets of links without making links. The sources are not read.
   * @throws ApiError the errors of `link`, except those about its source.
   */
  async checkWork(accountId: string, { links, ...single }: NewDeliveryLinks): Promise<void> {
    if (links === undefined) await this.#compile(accountId, single, '');
    for (const [index, link] of (links ?? []).entries())
      await this.#compile(accountId, link, `links[${index}].`);
  }

  async #findLinkedTransform(
    accountId: string,
    sent: NewDeliveryLink,
    where: string,
  ): Promise<LinkedTransform> {
    const { what, recipe, steps } = await this.#compile(accountId, sent, where);
    return what === null ? this.#saveWork(accountId, steps, sent.widths, where) : { what, recipe };
  }

  async #compile(accountId: string, sent: NewDeliveryLink, where: string): Promise<CompiledLinkWork> {
    const { op, parameters, steps, preset, widths } = sent;
    const given = (['op', 'steps', 'preset'] as const).filter((name) => sent[name] !== undefined);
    const [name, second] = given;
    if (name === undefined && widths === undefined) {
      const message = 'The work is missing: give op, steps or preset.';
      throw exclusiveFieldError(`${where}op`, message, ['op', 'steps', 'preset']);
    }
    if (second !== undefined) {
      const message = `${name} and ${second} exclude each other: send one of them.`;
      throw exclusiveFieldError(`${where}${second}`, message, given);
    }
    if (parameters !== undefined && op === undefined)
      throw invalidParamError(`${where}parameters`, 'parameters go with op: move them into the steps.');
    checkPresetWidths(widths, `${where}widths`);
    if (preset !== undefined) {
      const found = await this.#options.presets.find(accountId, preset, `${where}preset`);
      const recipe = recipeOfPreset(found);
      this.#options.recipes.compilePass(recipe);
      const isOwnLadder = widths?.every((width) => recipe.ladder?.includes(width)) ?? true;
      return { what: isOwnLadder ? referenceOf(found) : null, recipe, steps: found.version.steps };
    }
    const own = steps ?? [stepOfOp(sent)];
    if (steps === undefined) checkJsonSize(parameters, `${where}parameters`);
    else checkStepSizes(steps, `${where}steps`);
    const findField = (key: string): SentField => sentFieldAt(`${where}${key}`);
    const recipe = recipeOfSteps(
      steps === undefined
        ? own.map((step) => toRequestedStep(step, (key) => findField(key === '' ? 'op' : key)))
        : sentSteps(steps, `${where}steps`),
    );
    this.#options.recipes.compilePass(recipe);
    return { what: widths === undefined ? opsText(own) : null, recipe, steps: own };
  }

  /** Saves the steps as a preset, unless the same steps were saved before. */
  async #saveWork(
    accountId: string,
    steps: readonly PresetStep[],
    widths: readonly number[] | undefined,
    where: string,
  ): Promise<LinkedTransform> {
    const sent = { name: 'Delivery', steps: [...steps], ...(widths && { widths: [...widths] }) };
    const found = await this.#options.presets.saveOnce(accountId, sent, where);
    return { what: referenceOf(found), recipe: recipeOfPreset(found), saved: referenceOf(found) };
  }
}

/** The op of a link. `widths` alone means a resize, and a resize without a size is one to the largest of the widths. */
function stepOfOp({ op = 'resize', parameters, widths }: NewDeliveryLink): PresetStep {
  const hasSize = parameters?.width !== undefined || parameters?.height !== undefined;
  if (op !== 'resize' || hasSize || widths === undefined)
    return { op, ...withoutAbsentFields({ parameters }) };
  return { op, parameters: { ...parameters, width: widths.at(-1) } };
}

function referenceOf({ preset, version }: FoundPreset): string {
  return `${preset.slug}@${version.version}`;
}

/** The steps in the form that an address contains; null if the steps do not fit into an address. */
function opsText(steps: readonly PresetStep[]): string | null {
  if (steps.length > MAX_ADDRESS_OPS) return null;
  const texts = steps.map(({ op: name, parameters = {} }) => {
    const op = findOp(name);
    if (op?.runs !== 'pass') return null;
    const pairs = Object.entries(normalizeParameterSpelling(op, parameters))
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(parameterText(value))}`);
    return pairs.length === 0 ? op.op : `${op.op}:${pairs.join(',')}`;
  });
  const what = texts.join(';');
  return texts.includes(null) || what.length > MAX_STEPS_TEXT_CHARACTERS ? null : what;
}

function parameterText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A width that an address may contain, and the width of the picture that such an address gets. */
interface Rung {
  width: number;
  pictureWidthPx: number;
}

/**
 * The widths from which a browser chooses. Pictures are never enlarged, so all widths from the picture's own width
 * upwards lead to the same file; only the smallest of them is listed.
 * @param largest the size of the picture at the largest width. Null if it is unknown before the pixels are read. In
 * this case, every width is listed.
 */
function selectRungs(widths: readonly number[], largest: Size | null): Rung[] {
  const ownPx = largest?.width ?? Number.POSITIVE_INFINITY;
  const last = widths.findIndex((width) => width >= ownPx);
  const named = last === -1 ? widths : widths.slice(0, last + 1);
  return named.map((width) => ({ width, pictureWidthPx: Math.min(width, ownPx) }));
}

/**
 * The addresses of one picture in several widths, as the attributes of an <img>.
 * @param addressOf returns the address for a width.
 */
function imageSourcesOf(rungs: readonly Rung[], addressOf: (width: number) => string): ImageSources {
  const largestPx = rungs.at(-1)?.pictureWidthPx ?? 0;
  const usual = rungs.findLast(({ pictureWidthPx }) => pictureWidthPx <= FALLBACK_WIDTH_PX) ?? rungs[0];
  return {
    url: addressOf(usual?.width ?? 0),
    srcset: rungs.map(({ width, pictureWidthPx }) => `${addressOf(width)} ${pictureWidthPx}w`).join(', '),
    sizes: `(max-width: ${largestPx}px) 100vw, ${largestPx}px`,
  };
}

/**
 * The size of the result, predicted from the header of its source; null if it is unknown before the pixels are read.
 */
async function predictSize(file: StoredFile, pass: ImagePass): Promise<Size | null> {
  const [made] = await previewPasses({ bytes: file, header: null }, [{ pass, paramOf: (param) => param }]);
  if (made === undefined || made instanceof ApiError) return null;
  const { width, height } = made;
  return width === null || height === null ? null : { width, height };
}

type ImageSources = Pick<DeliveryLink, 'url' | 'srcset' | 'sizes'>;

/**
 * An <img> that loads when it comes into view. It contains the size of the picture, if that is known, so that the
 * layout of the page does not shift.
 */
function imageElement({ url, srcset, sizes }: ImageSources, size: Size | null): string {
  const attributes = {
    src: url,
    ...withoutAbsentFields({ srcset, sizes }),
    ...size,
    loading: 'lazy',
    alt: '',
  };
  const texts = Object.entries(attributes).map(
    ([name, value]) => `${name}="${escapeHtmlText(String(value))}"`,
  );
  return `<img ${texts.join(' ')}>`;
}
