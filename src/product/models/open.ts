import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ModelBook } from './models.ts';
import { modelRoutes } from './routes.ts';

export function openModels({ models }: { models: ModelBook }): ProductSlice {
  return { routes: (app) => modelRoutes(app, { models }) };
}
