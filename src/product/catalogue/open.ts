import type { FastifyInstance } from 'fastify';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { DocumentationPage } from '../../platform/pages/page.ts';
import { guidelinesPage } from './pages/guidelines.ts';
import { type CatalogueOptions, catalogueRoutes, opDefinitionsOf, priceListRoutes } from './routes.ts';
import type { OpDefinition } from './schema.ts';

export interface CatalogueSlice extends ProductSlice {
  /** Registers the price list, whose path is below /api and not below /api/v1. */
  priceRoutes(app: FastifyInstance): Promise<void>;
  /** Every op, as GET /ops shows it. */
  definitions(): readonly OpDefinition[];
  /** The guidelines as a page of the documentation. */
  guidelines(): DocumentationPage;
}

export function openCatalogue(options: CatalogueOptions): CatalogueSlice {
  return {
    routes: (app) => catalogueRoutes(app, options),
    priceRoutes: (app) => priceListRoutes(app, options),
    definitions: () => opDefinitionsOf(options),
    guidelines: () => guidelinesPage(opDefinitionsOf(options)),
  };
}
