import { backUp } from '../../platform/stores/backup.ts';
import { isEmbedded, type Stores, type StoresSettings } from '../../platform/stores/open.ts';
import { readPlans } from '../../product/billing/plans.ts';
import type { StoresContext } from './command.ts';

/** The context of the operator's commands, which run in the primary or in their own process. */
export function commandContext(settings: StoresSettings, stores: Stores): StoresContext {
  return {
    ...stores,
    planIds: readPlans().map(({ id }) => id),
    now: () => new Date(),
    backUp: isEmbedded(settings) ? (...given) => backUp(settings.DATA_DIR, ...given) : undefined,
  };
}
