import type { FastifyInstance } from 'fastify';
import type { Slice } from '../http/slice.ts';
import { type CatalogueOptions, catalogueRoutes, priceListRoutes } from './routes.ts';

export interface Catalogue extends Slice {
  /** The price list, which lies below /api and not below /api/v1. */
  priceRoutes(app: FastifyInstance): Promise<void>;
}

export function openCatalogue(options: CatalogueOptions): Catalogue {
  return {
    routes: (app) => catalogueRoutes(app, options),
    priceRoutes: (app) => priceListRoutes(app, options),
  };
}
