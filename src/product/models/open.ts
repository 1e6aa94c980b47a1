import type { Slice } from '../../platform/http/slice.ts';
import type { Models } from './models.ts';
import { modelRoutes } from './routes.ts';

export function openModels({ models }: { models: Models }): Slice {
  return { routes: (app) => modelRoutes(app, { models }) };
}
