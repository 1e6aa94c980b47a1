import { hash } from 'node:crypto';
import type { ImagePass, OutputFormat, TransformTaskResult } from '../../../workers/protocol.ts';
import { readImageHeader } from '../../imaging/images/header/header.ts';
import type { StoredFile } from '../../imaging/images/image-call.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { DAY_MS, HOUR_MS } from '../../platform/values/units.ts';
import {
  type LoadedImage,
  loadCallImage,
  type MeteredCallOptions,
  runCountedWork,
} from '../transforms/metered-call.ts';
import type { DeliveryAddress } from './address.ts';
import { noSuchPictureError } from './errors.ts';
import type { FinishedPicture, PictureRequest } from './pictures.ts';
import {
  acceptedModernFormats,
  allowedWidthFor,
  formatOfExtension,
  formatsForClient,
  type PictureRecipe,
  type PictureRecipes,
  type SourceFacts,
} from './recipes.ts';
import type { SigningAccount } from './signers.ts';

/** How long the picture of a public URL is served before the URL is read again, in seconds. */
export const URL_FRESH_SECONDS = HOUR_MS / 1000;
/** How long the picture of a public URL is served while the URL cannot be read, in seconds. */
export const URL_STALE_SECONDS = (7 * DAY_MS) / 1000;

/** The length of an ETag: 192 bits in base64url. */
const ETAG_CHARACTERS = 32;

export interface AddressResolverOptions extends Omit<MeteredCallOptions, 'gate'> {
  recipes: PictureRecipes;
  /**
   * The version of this release. It is part of the cache path, because the same pass may make different bytes in
   * another release.
   */
  engine: string;
}

/** The picture that an address requests, before it is read or made. */
export interface RequestedPicture extends PictureRequest {
  /** The asset that is the source; null if the source is a public URL. */
  asset: { id: string; name: string | null; expiresAt: string | null } | null;
  /** The strong ETag without quotes; null if it is computed from the finished picture. */
  etag: string | null;
  /** The format; null if the work determines it. */
  format: OutputFormat | null;
  /** The cache tag of the preset that makes the picture; null for ops. */
  presetTag: string | null;
  tags: string[];
}

/** Determines the picture that an address requests: its pass, its source, and its path in the cache. */
export class AddressResolver {
  readonly #options: AddressResolverOptions;

  constructor(options: AddressResolverOptions) {
    this.#options = options;
  }

  /**
   * Resolves an address.
   * @param accept the Accept header of the client, which matters for `auto`.
   * @throws ApiError 404 when the asset or the preset was deleted, or the width is not allowed; invalid_param for steps
   * that cannot run.
   */
  async resolve(
    address: DeliveryAddress,
    signer: SigningAccount,
    accept: string | undefined,
  ): Promise<RequestedPicture> {
    const { recipes } = this.#options;
    const recipe = await recipes.find(signer.accountId, address.work).catch(rethrowAsNoSuchPicture);
    const width = requireWidth(address, recipe);
    const pixels = await this.#openSource(address, signer);
    const { extension } = address;
    const format = extension === 'auto' || extension === null ? undefined : formatOfExtension(extension);
    const fixed = extension === 'auto' ? null : recipes.compilePass(recipe, { width, format });
    // Only the picture of an `auto` address depends on what the client accepts.
    const identity = [
      this.#options.engine,
      fixed ?? [recipe.steps, width, acceptedModernFormats(accept)],
      pixels.digest,
    ];
    const digest = hash('sha256', JSON.stringify(identity), 'base64url').slice(0, ETAG_CHARACTERS);
    const isWanted = () =>
      recipes.find(signer.accountId, address.work).then(
        ({ tag }) => tag === recipe.tag && pixels.isThere(),
        () => false,
      );
    const choosePasses = (facts: SourceFacts): ImagePass[] =>
      fixed === null
        ? formatsForClient(accept, facts).map((format, _index, { length }) =>
            recipes.compilePass(recipe, { width, format, isOneOfSeveral: length > 1 }),
          )
        : [fixed];
    const tags = [pixels.asset && `asset-${pixels.asset.id}`, recipe.tag, `key-${signer.keyId}`];
    const etag = pixels.asset && digest;
    // The name begins with the tag of the preset, so that all pictures of a deleted version can be found.
    const name = `${recipe.tag === null ? '' : presetNamePrefix(recipe.tag)}${digest}`;
    return {
      path: `${signer.accountId}/${pixels.group}/${name}`,
      ...pixels.terms,
      asset: pixels.asset,
      etag,
      format: fixed?.encode.format ?? null,
      presetTag: recipe.tag,
      tags: tags.filter((tag) => tag !== null),
      make: () =>
        this.#make({ signer, op: recipe.op, pixels, choosePasses, etag }).catch(rethrowAsNoSuchPicture),
      isWanted,
    };
  }

  /**
   * The picture to serve while the source of an address is unreachable, as its preset declares it; null if it declares
   * none.
   * @throws ApiError the errors of `resolve`, when the replacement is unreachable as well.
   */
  async resolveFallback(
    address: DeliveryAddress,
    signer: SigningAccount,
    accept: string | undefined,
  ): Promise<{ requested: RequestedPicture; status: number } | null> {
    const { fallback } = await this.#options.recipes
      .find(signer.accountId, address.work)
      .catch(rethrowAsNoSuchPicture);
    if (fallback === null) return null;
    const { assetId, status } = fallback;
    const requested = await this.resolve({ ...address, source: { kind: 'asset', assetId } }, signer, accept);
    return { requested, status };
  }

  async #openSource({ source }: DeliveryAddress, { accountId }: SigningAccount): Promise<PixelSource> {
    const { assets } = this.#options;
    if (source.kind === 'url') {
      const digest = hash('sha256', source.url, 'hex');
      return {
        source,
        digest,
        group: `url-${digest.slice(0, 32)}`,
        asset: null,
        file: null,
        terms: { freshMs: URL_FRESH_SECONDS * 1000, staleMs: URL_STALE_SECONDS * 1000 },
        isThere: async () => true,
      };
    }
    const { assetId } = source;
    const file = await assets.find(accountId, assetId).catch(rethrowAsNoSuchPicture);
    const { name, expiresAt, digest } = file;
    if (expiresAt !== null && Date.parse(expiresAt) <= this.#options.now().getTime())
      throw noSuchPictureError();
    const isThere = () =>
      assets.find(accountId, assetId).then(
        () => true,
        () => false,
      );
    const asset = { id: assetId, name, expiresAt };
    return { source, digest, group: assetId, asset, file, terms: { freshMs: null, staleMs: 0 }, isThere };
  }

  /**
   * Makes the picture, and counts it as a run of the account.
   * @throws ApiError asset_not_found when the asset has been deleted.
   */
  #make({ signer, op, pixels, choosePasses, etag }: PicturePlan): Promise<FinishedPicture> {
    const { allowance, imageWorkers, meters, timeoutMs } = this.#options;
    const { accountId, plan } = signer;
    const startedMs = performance.now();
    // The work is not aborted when the client disconnects, because other requests may wait for the same picture.
    const terms = { accountId, signal: new AbortController().signal, deadlineMs: Date.now() + timeoutMs };
    return runCountedWork(allowance, { accountId, plan, apiKeyId: null, sessionId: null }, op, async () => {
      const image: LoadedImage =
        pixels.file === null
          ? await loadCallImage(pixels.source, this.#options, terms)
          : { bytes: pixels.file, header: null };
      const fetchMs = performance.now() - startedMs;
      const bytesIn = image.bytes.length;
      const passes = choosePasses(sourceFactsOf(image));
      const branches = passes.map((pass) => ({ pass, paramOf: (param: string) => param }));
      const made = await imageWorkers.branch({ ...image, ...terms, branches }).result;
      const { data, contentType, width, height } = smallestOutput(made.outputs);
      const times = { fetchMs, queueMs: made.queueMs, ...made.timings };
      meters.ops.recordRun({ op, work: 'call', ...times, bytesIn, bytesOut: data.length });
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      const etagOfBytes = () => hash('sha256', bytes, 'base64url').slice(0, ETAG_CHARACTERS);
      return { bytes, contentType, width, height, etag: etag ?? etagOfBytes() };
    });
  }
}

/** How the picture of an address is made. */
interface PicturePlan {
  signer: SigningAccount;
  op: string;
  pixels: PixelSource;
  /** Returns the passes that are tried on the source. The smallest result is sent. */
  choosePasses: (facts: SourceFacts) => ImagePass[];
  /** The ETag; null if it is computed from the bytes of the result. */
  etag: string | null;
}

interface PixelSource {
  source: DeliveryAddress['source'];
  /** The digest of the asset's bytes, or of the public URL. */
  digest: string;
  /** The folder of the cache for pictures of this source. */
  group: string;
  asset: RequestedPicture['asset'];
  file: StoredFile | null;
  terms: Pick<PictureRequest, 'freshMs' | 'staleMs'>;
  isThere(): Promise<boolean>;
}

/** The beginning of the cache names of all pictures that a preset version made. */
export function presetNamePrefix(tag: string): string {
  return `${tag}.`;
}

/** The tag of the preset in the cache name of a picture; null for a picture that ops made. */
export function presetTagOfName(name: string): string | null {
  return name.includes('.') ? name.slice(0, name.indexOf('.')) : null;
}

/**
 * Throws the error 404 for a deleted asset or preset, as for one that never existed, so that callers cannot tell them
 * apart. Any other error is thrown unchanged.
 */
function rethrowAsNoSuchPicture(error: unknown): never {
  const isGone = error instanceof ApiError && (error.status === 404 || error.code === 'invalid_state');
  throw isGone ? noSuchPictureError() : error;
}

function requireWidth({ rung }: DeliveryAddress, { ladder }: PictureRecipe): number | undefined {
  if (rung === null) return undefined;
  const width = ladder && allowedWidthFor(ladder, rung);
  if (width === null) throw noSuchPictureError();
  return width;
}

function sourceFactsOf({ bytes, header }: LoadedImage): SourceFacts {
  if (!(bytes instanceof Uint8Array)) return bytes.facts;
  const { format = 'jpeg', hasAlpha = false, frames = 1 } = header ?? readImageHeader(bytes) ?? {};
  return { format, hasAlpha, frames };
}

/** The smallest of the outputs. If every pass failed, throws the first error. */
function smallestOutput(outputs: readonly (TransformTaskResult | ApiError)[]): TransformTaskResult {
  const made = outputs.filter((output): output is TransformTaskResult => !(output instanceof ApiError));
  const [first, ...others] = made;
  if (first === undefined) throw outputs[0] ?? new Error('A picture has at least one pass.');
  return others.reduce((least, other) => (other.data.length < least.data.length ? other : least), first);
}
