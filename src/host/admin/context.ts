import { backUp } from '../../platform/stores/backup.ts';
import { isEmbedded, type Stores, type StoresSettings } from '../../platform/stores/open.ts';
import { readPlans } from '../../product/billing/plans.ts';
import type { CommandContext } from './command.ts';

/** The context of the operator's commands, in the primary or in a process of their own. */
export function commandContext(settings: StoresSettings, stores: Stores): CommandContext {
  return {
    ...stores,
    planIds: readPlans().map(({ id }) => id),
    now: () => new Date(),
    backUp: isEmbedded(settings) ? (directory) => backUp(settings.DATA_DIR, directory) : undefined,
  };
}
