import type { Settings } from '../../../config/index.ts';
import { backUp } from '../../platform/stores/backup.ts';
import { isEmbedded, type Stores } from '../../platform/stores/open.ts';
import { readPlans } from '../../product/billing/plans.ts';
import type { StoresContext } from './command.ts';

/** The context of the operator's commands, which run in the primary or in their own process. */
export function commandContext({ http, stores: settings }: Settings, stores: Stores): StoresContext {
  return {
    ...stores,
    publicUrl: http.PUBLIC_URL || `http://${http.HOST}:${http.PORT}`,
    planIds: readPlans().map(({ id }) => id),
    now: () => new Date(),
    backUp: isEmbedded(settings) ? (...given) => backUp(settings.DATA_DIR, ...given) : undefined,
  };
}
