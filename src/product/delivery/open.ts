import type { FastifyInstance } from 'fastify';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import type { AccountsStore } from '../accounts/store.ts';
import type { AssetsSlice } from '../assets/open.ts';
import type { ModelsFile } from '../models/models.ts';
import type { PresetsSlice } from '../presets/open.ts';
import { AddressCache } from './address-cache.ts';
import { openPictureCache, type PictureCacheSettings } from './cache.ts';
import { SigningKeysStore, signingKeyRoutes } from './keys.ts';
import { Leases } from './leases.ts';
import { SignedLinks } from './links.ts';
import { DeliveredPictures } from './pictures.ts';
import { PictureRecipes } from './recipes.ts';
import { CachedPictureRemovals } from './removals.ts';
import { AddressResolver, type AddressResolverOptions } from './resolver.ts';
import { deliveryRoutes, linkRoutes } from './routes.ts';
import { SigningKeyCache } from './signers.ts';

interface DeliveryOptions
  extends Omit<ProcessParts, 'capacity' | 'draining'>,
    Omit<AddressResolverOptions, 'recipes' | 'assets' | 'timeoutMs'> {
  gate: CallGate;
  accounts: AccountsStore;
  assets: Pick<AssetsSlice, 'reader' | 'onDeleted' | 'findMissingAssets'>;
  presets: PresetsSlice;
  models: ModelsFile;
  settings: PictureCacheSettings & { TRANSFORM_TIMEOUT_MS: number };
}

/**
 * Opens the delivery slice: signing keys, and the addresses of pictures for web pages. `addressRoutes` registers the
 * routes of signed addresses, which lie under / instead of /api, and need no credential.
 */
export async function openDelivery(
  options: DeliveryOptions,
): Promise<ProductSlice & { addressRoutes(app: FastifyInstance): Promise<void> }> {
  const { coordination, settings, presets, accounts, gate, now } = options;
  const keys = new SigningKeysStore(options.documents);
  const signers = await SigningKeyCache.open({ keys, accounts, coordination, now });
  const recipes = new PictureRecipes(options.models, presets, now);
  const assets = options.assets.reader;
  const addresses = new AddressCache({ signers, recipes, assets, now });
  const cache = openPictureCache(settings, options.objects, options.log);
  const timeoutMs = settings.TRANSFORM_TIMEOUT_MS;
  // Processes wait for each other's pictures only if they share a cache.
  const scope = cache.kind === 'bucket' ? 'all hosts' : options.hostId;
  const processId = `${options.hostId}/${options.processId}`;
  const leases = await Leases.open({ coordination, scope, processId, waitMs: timeoutMs });
  const pictures = new DeliveredPictures({ cache, leases, now });
  const resolver = new AddressResolver({ ...options, recipes, assets, timeoutMs });
  const links = new SignedLinks({ ...options, keys, recipes, assets });
  const removals = await CachedPictureRemovals.open({ ...options, cache, scope, pictures, recipes });
  return {
    async routes(app) {
      await app.register(signingKeyRoutes, { keys, signers, gate, now });
      await app.register(linkRoutes, { links, gate });
    },
    addressRoutes: (app) => deliveryRoutes(app, { gate, signers, addresses, resolver, pictures, now }),
    sweeps: [removals.sweep],
    async stop() {
      signers.close();
      leases.close();
      removals.close();
      await cache.whenSettled();
    },
  };
}
