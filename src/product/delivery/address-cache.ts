import { LRUCache } from 'lru-cache';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { AssetReader } from '../assets/content/reader.ts';
import type { DeliveryAddress } from './address.ts';
import { acceptedModernFormats, type PictureRecipes } from './recipes.ts';
import type { RequestedPicture } from './resolver.ts';
import type { SigningAccount, SigningKeyCache } from './signers.ts';

const MAX_CHARACTERS = 8 * MEGABYTE_BYTES;
/** The memory of an entry besides the text of its address, in characters. */
const ENTRY_CHARACTERS = 2_000;

/** A right address, and who signed it. */
export interface SignedAddress {
  address: DeliveryAddress;
  signer: SigningAccount;
}

/** A right address with what it asks for. */
export interface CachedAddress extends SignedAddress {
  requested: RequestedPicture;
}

interface AddressCacheOptions {
  signers: Pick<SigningKeyCache, 'current' | 'isOver'>;
  recipes: Pick<PictureRecipes, 'isStill'>;
  assets: Pick<AssetReader, 'knows'>;
  now: () => Date;
}

/**
 * The valid addresses that were requested last, so that a cached picture costs no HMAC, no plan and no read of a store.
 * For each request it is checked that the key, the preset and the asset still exist, and that nothing has expired.
 */
export class AddressCache {
  readonly #options: AddressCacheOptions;
  readonly #known = new LRUCache<string, CachedAddress>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_known, key) => key.length + ENTRY_CHARACTERS,
  });

  constructor(options: AddressCacheOptions) {
    this.#options = options;
  }

  /** @param accept the Accept header of the client, on which the picture of an `auto` address depends. */
  find(url: string, accept: string | undefined): CachedAddress | null {
    const known = this.#known.get(keyOf(url, accept));
    return known !== undefined && this.#holds(known) ? known : null;
  }

  keep(url: string, accept: string | undefined, known: CachedAddress): void {
    this.#known.set(keyOf(url, accept), known);
  }

  #holds({ address, signer, requested: { asset, presetTag } }: CachedAddress): boolean {
    const { signers, recipes, assets, now } = this.#options;
    const { accountId } = signer;
    if (signers.current(address.keyId) !== signer || signers.isOver(address.expiresAt)) return false;
    if (!recipes.isStill(accountId, address.work, presetTag)) return false;
    if (asset === null) return true;
    const isOver = asset.expiresAt !== null && Date.parse(asset.expiresAt) <= now().getTime();
    return !isOver && assets.knows(accountId, asset.id);
  }
}

function keyOf(url: string, accept: string | undefined): string {
  return url.includes('.auto') ? `${acceptedModernFormats(accept).join()} ${url}` : url;
}
