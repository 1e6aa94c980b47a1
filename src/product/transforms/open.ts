import type { FastifyInstance } from 'fastify';
import type { Readers } from '../../imaging/readers/readers.ts';
import type { LinkSigner } from '../../platform/http/signatures.ts';
import type { ProductSlice } from '../../platform/http/slice.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import type { ModelsFile } from '../models/models.ts';
import type { PresetsSlice } from '../presets/open.ts';
import { compareRoutes } from './compare.ts';
import { fontRoutes } from './fonts.ts';
import { addTimingsToFailedCalls, type MeteredCallOptions } from './metered-call.ts';
import { metadataRoutes, readingRoutes } from './read.ts';
import { type RenderRoutesOptions, renderRoutes } from './render.ts';
import { resultRoutes, TemporaryResults } from './results.ts';
import { transformRoutes } from './transform.ts';

interface TransformsOptions
  extends Omit<MeteredCallOptions, 'timeoutMs'>,
    Pick<RenderRoutesOptions, 'renders' | 'templates' | 'publicUrl' | 'fonts'> {
  readers: Readers;
  objects: ObjectStore;
  signatures: LinkSigner;
  models: ModelsFile;
  presets: Pick<PresetsSlice, 'findPass' | 'find'>;
  settings: { TRANSFORM_TIMEOUT_MS: number; RENDER_TIMEOUT_MS: number };
}

interface TransformsSlice extends ProductSlice {
  /** Registers the route for signed links to results. It lies under / instead of /api, and needs no credential. */
  resultRoutes(app: FastifyInstance): Promise<void>;
}

/** Opens the synchronous calls: transform, metadata, reading text and codes, compare, and render. */
export function openTransforms({ settings, ...options }: TransformsOptions): TransformsSlice {
  const results = new TemporaryResults(options);
  const timeoutMs = settings.TRANSFORM_TIMEOUT_MS;
  return {
    async routes(app) {
      addTimingsToFailedCalls(app);
      await app.register(transformRoutes, { ...options, timeoutMs, results });
      await app.register(compareRoutes, { ...options, timeoutMs });
      await app.register(readingRoutes, { ...options, timeoutMs });
      await app.register(metadataRoutes, { ...options, timeoutMs });
      await app.register(fontRoutes, options);
      await app.register(renderRoutes, { ...options, timeoutMs: settings.RENDER_TIMEOUT_MS, results });
    },
    resultRoutes: (app) => resultRoutes(app, options),
    sweeps: [{ name: 'results', sweep: () => results.sweep() }],
  };
}
