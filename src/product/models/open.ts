import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ModelsFile } from './models.ts';
import { modelRoutes } from './routes.ts';

export function openModels({ models }: { models: ModelsFile }): ProductSlice {
  return { routes: (app) => modelRoutes(app, { models }) };
}
