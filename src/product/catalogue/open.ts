import type { FastifyInstance } from 'fastify';
import type { Slice } from '../../platform/http/slice.ts';
import { OP_NAMES } from './index.ts';
import { type CatalogueOptions, cataloguePages, catalogueRoutes, priceListRoutes } from './routes.ts';

export interface Catalogue extends Slice {
  /** The price list, which lies below /api and not below /api/v1. */
  priceRoutes(app: FastifyInstance): Promise<void>;
  /** Pages of the documentation, by their path below /docs and without `.md`. */
  pages(): Record<string, string>;
  opNames: readonly string[];
}

export function openCatalogue(options: CatalogueOptions): Catalogue {
  return {
    routes: (app) => catalogueRoutes(app, options),
    priceRoutes: (app) => priceListRoutes(app, options),
    pages: () => cataloguePages(options),
    opNames: OP_NAMES,
  };
}
