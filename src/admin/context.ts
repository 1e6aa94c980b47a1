import { readPlans } from '../../config/plans.ts';
import { backUp } from '../stores/backup.ts';
import { isEmbedded, type Stores, type StoresSettings } from '../stores/open.ts';
import type { CommandContext } from './command.ts';

/** What commands work on, in the primary or beside it. */
export function commandContext(settings: StoresSettings, stores: Stores): CommandContext {
  return {
    ...stores,
    planIds: readPlans().map(({ id }) => id),
    now: () => new Date(),
    backUp: isEmbedded(settings) ? (directory) => backUp(settings.DATA_DIR, directory) : undefined,
  };
}
