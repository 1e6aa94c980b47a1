import { LRUCache } from 'lru-cache';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { AssetReader } from '../assets/content/reader.ts';
import type { DeliveryAddress } from './address.ts';
import { acceptedModernFormats, type PictureRecipes } from './recipes.ts';
import type { RequestedPicture } from './resolver.ts';
import type { SigningAccount, SigningKeyCache } from './signers.ts';

const MAX_CACHE_CHARACTERS = 8 * MEGABYTE_BYTES;
/** The assumed size of an entry in addition to its key, in characters. */
const ENTRY_OVERHEAD_CHARACTERS = 2_000;

/** A delivery address with a correct signature, and the account that signed it. */
export interface SignedAddress {
  address: DeliveryAddress;
  signer: SigningAccount;
}

/** A delivery address with a correct signature, its signer, and the picture that it requests. */
export interface CachedAddress extends SignedAddress {
  requested: RequestedPicture;
}

interface AddressCacheOptions {
  signers: Pick<SigningKeyCache, 'currentSigner' | 'hasExpired'>;
  recipes: Pick<PictureRecipes, 'isUnchanged'>;
  assets: Pick<AssetReader, 'isCached'>;
  now: () => Date;
}

/**
 * Caches the valid addresses that were requested last. For a cached address, no HMAC is computed, no work is planned
 * and no store is read. A look-up still checks that the key, the preset and the asset exist, and that nothing has
 * expired.
 */
export class AddressCache {
  readonly #options: AddressCacheOptions;
  readonly #cached = new LRUCache<string, CachedAddress>({
    maxSize: MAX_CACHE_CHARACTERS,
    sizeCalculation: (_known, key) => key.length + ENTRY_OVERHEAD_CHARACTERS,
  });

  constructor(options: AddressCacheOptions) {
    this.#options = options;
  }

  /**
   * Finds a cached address that is still valid.
   * @param accept the Accept header of the client. It decides which picture an `auto` address stands for.
   */
  find(url: string, accept: string | undefined): CachedAddress | null {
    const known = this.#cached.get(cacheKeyOf(url, accept));
    return known !== undefined && this.#isStillValid(known) ? known : null;
  }

  store(url: string, accept: string | undefined, known: CachedAddress): void {
    this.#cached.set(cacheKeyOf(url, accept), known);
  }

  #isStillValid({ address, signer, requested: { asset, presetTag } }: CachedAddress): boolean {
    const { signers, recipes, assets, now } = this.#options;
    const { accountId } = signer;
    if (signers.currentSigner(address.keyId) !== signer || signers.hasExpired(address.expiresAt))
      return false;
    if (!recipes.isUnchanged(accountId, address.work, presetTag)) return false;
    if (asset === null) return true;
    const hasExpired = asset.expiresAt !== null && Date.parse(asset.expiresAt) <= now().getTime();
    return !hasExpired && assets.isCached(accountId, asset.id);
  }
}

function cacheKeyOf(url: string, accept: string | undefined): string {
  return url.includes('.auto') ? `${acceptedModernFormats(accept).join()} ${url}` : url;
}
