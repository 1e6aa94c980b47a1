import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import { DiskCache } from '../../platform/disk-cache/disk-cache.ts';
import type { Slice } from '../../platform/http/slice.ts';
import type { OpMeter } from '../../platform/metrics/ops.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import { DiskReserve, readSpace } from '../../platform/stores/objects/reserve.ts';
import type { Log } from '../../platform/tracing/log.ts';
import { MEGABYTE } from '../../platform/values/units.ts';
import type { Gate } from '../accounts/gate/gate.ts';
import type { AccountsStore } from '../accounts/store.ts';
import type { Assets } from '../assets/open.ts';
import type { Allowance } from '../billing/allowance.ts';
import type { Models } from '../models/models.ts';
import type { Presets } from '../presets/open.ts';
import { signingKeyRoutes } from './keys/routes.ts';
import { Signers } from './keys/signers.ts';
import { SigningKeysStore } from './keys/store.ts';
import { linkRoutes } from './link-routes.ts';
import { Links } from './links.ts';
import { Orders } from './orders.ts';
import { Pictures } from './pictures.ts';
import { Recipes } from './recipes.ts';
import { deliveryRoutes } from './routes.ts';

interface DeliveryOptions {
  documents: Documents;
  coordination: Coordination;
  hostId: string;
  processId: string;
  gate: Gate;
  accounts: AccountsStore;
  assets: Pick<Assets, 'reader' | 'whenRemoved'>;
  presets: Presets;
  models: Models;
  imageWorkers: ImageWorkers;
  outbound: Outbound;
  allowance: Allowance;
  meters: { ops: OpMeter };
  publicUrl: () => string;
  /** The version of this release. */
  engine: string;
  settings: {
    DATA_DIR: string;
    STORAGE_RESERVE_MEGABYTES: number;
    DELIVERY_CACHE_MEGABYTES: number;
    TRANSFORM_TIMEOUT_MS: number;
  };
  now: () => Date;
  log: Log;
}

interface DeliveryParts {
  keys: SigningKeysStore;
  signers: Signers;
  orders: Orders;
  pictures: Pictures;
  links: Links;
  disk: DiskCache;
  gate: Gate;
  now: () => Date;
  endPurges: () => void;
}

/** Delivery: signing keys, and the addresses of pictures for web pages. */
export class Delivery implements Slice {
  readonly #parts: DeliveryParts;

  private constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  static async open(options: DeliveryOptions): Promise<Delivery> {
    const { coordination, settings, presets, gate, now } = options;
    const keys = await SigningKeysStore.open(options.documents);
    const signers = await Signers.open({ keys, accounts: options.accounts, coordination, now });
    const recipes = new Recipes(options.models, presets);
    const assets = options.assets.reader;
    const directory = join(settings.DATA_DIR, 'delivery');
    const disk = new DiskCache({
      directory,
      maxBytes: settings.DELIVERY_CACHE_MEGABYTES * MEGABYTE,
      // Uploads may use what lies between their own reserve and this one.
      reserve: new DiskReserve(2 * settings.STORAGE_RESERVE_MEGABYTES * MEGABYTE, () => readSpace(directory)),
      now,
      log: options.log,
    });
    const pictures = new Pictures({ ...options, disk });
    const orders = new Orders({ ...options, recipes, assets, timeoutMs: settings.TRANSFORM_TIMEOUT_MS });
    const links = new Links({ ...options, keys, recipes, assets });
    const endPurges = await options.assets.whenRemoved((owner, group) => pictures.forget({ owner, group }));
    return new Delivery({ keys, signers, orders, pictures, links, disk, gate, now, endPurges });
  }

  readonly routes = async (app: FastifyInstance): Promise<void> => {
    await app.register(signingKeyRoutes, this.#parts);
    await app.register(linkRoutes, this.#parts);
  };

  /** The signed addresses, which are below / and need no credential. */
  readonly addressRoutes = (app: FastifyInstance): Promise<void> => deliveryRoutes(app, this.#parts);

  async stop(): Promise<void> {
    const { signers, disk, endPurges } = this.#parts;
    endPurges();
    signers.close();
    await disk.settled();
  }
}
