import type { ProductSlice } from '../../platform/http/slice.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import { mcpRoutes } from './routes.ts';

interface McpOptions {
  gate: CallGate;
  publicUrl: () => string;
  settings: { CORS_ORIGINS: string };
}

/**
 * Opens the tools for agents, whose route is below / and not below /api/v1. They only use the public API, and need
 * nothing of other slices.
 */
export function openMcp({ gate, publicUrl, settings }: McpOptions): Pick<ProductSlice, 'routes'> {
  const named = new Set(settings.CORS_ORIGINS.split(','));
  const isKnownOrigin = (origin: string) =>
    named.has('*') || named.has(origin) || origin === new URL(publicUrl()).origin;
  return { routes: (app) => mcpRoutes(app, { gate, isKnownOrigin }) };
}
