import type { Settings } from '../../../config/index.ts';
import { backUpEmbeddedStores } from '../../platform/stores/backup.ts';
import { hasEmbeddedStores, type Stores } from '../../platform/stores/open.ts';
import { readPlans } from '../../product/billing/plans.ts';
import type { StoresCommandContext } from './command.ts';

/** The context of the operator's commands, which run in the primary or in their own process. */
export function createStoresContext(
  { http, stores: settings }: Settings,
  stores: Stores,
): StoresCommandContext {
  return {
    ...stores,
    publicUrl: http.PUBLIC_URL || `http://${http.HOST}:${http.PORT}`,
    planIds: readPlans().map(({ id }) => id),
    now: () => new Date(),
    backUp: hasEmbeddedStores(settings)
      ? (...given) => backUpEmbeddedStores(settings.DATA_DIR, ...given)
      : undefined,
  };
}
