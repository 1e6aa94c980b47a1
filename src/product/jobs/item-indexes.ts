import { type DeclaredCollection, type IndexSpec, order } from '../../platform/stores/documents/port.ts';

/**
 * The indexes of items: by number and status for a reader, the others for the engine and its sweeps.
 */
const ITEM_INDEXES: readonly IndexSpec[] = [
  { name: 'order', fields: order('jobId', 'index') },
  { name: 'status', fields: order('jobId', 'status', 'index') },
  { name: 'queue', fields: order('jobId', 'queue', 'index'), whenPresent: ['queue'] },
  { name: 'lease', fields: order('leaseUntil'), whenPresent: ['leaseUntil'] },
  { name: 'retry', fields: order('notBefore'), whenPresent: ['notBefore'] },
  { name: 'awaiting', fields: order('awaitsStore'), whenPresent: ['awaitsStore'] },
  { name: 'decided', fields: order('decidedAt'), whenPresent: ['decidedAt'] },
];

export const JOB_ITEMS: DeclaredCollection = {
  name: 'jobItems',
  indexes: ITEM_INDEXES,
  onAccountDeletion: 'keep',
};
