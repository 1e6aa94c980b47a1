import type { DeclaredCollection, IndexSpec } from '../../platform/stores/documents/port.ts';

/**
 * The indexes of items: by number and status for a reader, the others for the engine and its sweeps.
 */
const ITEM_INDEXES: readonly IndexSpec[] = [
  {
    name: 'order',
    fields: [
      ['jobId', 1],
      ['index', 1],
    ],
  },
  {
    name: 'status',
    fields: [
      ['jobId', 1],
      ['status', 1],
      ['index', 1],
    ],
  },
  {
    name: 'queue',
    fields: [
      ['jobId', 1],
      ['queue', 1],
      ['index', 1],
    ],
    whenPresent: ['queue'],
  },
  { name: 'lease', fields: [['leaseUntil', 1]], whenPresent: ['leaseUntil'] },
  { name: 'retry', fields: [['notBefore', 1]], whenPresent: ['notBefore'] },
  { name: 'awaiting', fields: [['awaitsStore', 1]], whenPresent: ['awaitsStore'] },
  { name: 'decided', fields: [['decidedAt', 1]], whenPresent: ['decidedAt'] },
];

export const JOB_ITEMS: DeclaredCollection = {
  name: 'jobItems',
  indexes: ITEM_INDEXES,
  onAccountDeletion: 'keep',
};
