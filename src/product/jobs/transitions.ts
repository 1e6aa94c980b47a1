import type { DocumentFilter, DocumentUpdate } from '../../platform/stores/documents/port.ts';
import type { ItemDocument, JobDocument, OutcomeStatus } from './job.ts';

/*
 * Every change of the state of a job or of an item is a row here, and README.md draws the same rows. An update names
 * its row (`move` in store.ts, `transitionUpdate` below). The row's condition lets the update take effect only once,
 * even if several processes try it.
 */

/** The fields that make up the state of a document. */
type DocumentState = Partial<Record<'phase' | 'shown' | 'submitter' | 'status' | 'slot' | 'queue', unknown>>;

export interface StateTransition {
  /** The states in which the transition may begin: a value, or a list of values, for each field. */
  from: DocumentState;
  /** The fields that the transition sets. Null removes a field. */
  to: DocumentState;
}

type OneOrMore<T> = T | readonly T[];

interface JobTransition extends StateTransition {
  from: { phase: JobDocument['phase']; status?: OneOrMore<JobDocument['status']> };
  to: {
    phase?: JobDocument['phase'];
    shown?: 0 | 1;
    submitter?: null;
    status?: JobDocument['status'];
    slot?: null;
  };
}

interface ItemTransition extends StateTransition {
  from: { queue: OneOrMore<NonNullable<ItemDocument['queue']>> };
  to: { queue: NonNullable<ItemDocument['queue']> | null; status?: ItemDocument['status'] };
}

/** The transitions of a job. `showAndStart` is both in one update, for the case that no other job waits. */
export const JOB_TRANSITIONS = {
  show: { from: { phase: 'hidden' }, to: { phase: 'open', shown: 1, submitter: null } },
  showAndStart: {
    from: { phase: 'hidden' },
    to: { phase: 'open', shown: 1, submitter: null, status: 'PROCESSING' },
  },
  undo: { from: { phase: 'hidden' }, to: { phase: 'undone' } },
  start: { from: { phase: 'open', status: 'PENDING' }, to: { status: 'PROCESSING' } },
  cancel: { from: { phase: 'open', status: ['PENDING', 'PROCESSING'] }, to: { status: 'CANCELLING' } },
  complete: {
    from: { phase: 'open', status: 'PROCESSING' },
    to: { phase: 'ended', status: 'COMPLETED', slot: null },
  },
  fail: {
    from: { phase: 'open', status: 'PROCESSING' },
    to: { phase: 'ended', status: 'FAILED', slot: null },
  },
  endCancelled: {
    from: { phase: 'open', status: 'CANCELLING' },
    to: { phase: 'ended', status: 'CANCELLED', slot: null },
  },
  cleanUp: { from: { phase: 'ended' }, to: { phase: 'done' } },
  expire: { from: { phase: 'done' }, to: { phase: 'leaving', shown: 0 } },
} as const satisfies Record<string, JobTransition>;

/** The transitions of an item. An item with a final status has no `queue`. */
export const ITEM_TRANSITIONS = {
  claim: { from: { queue: 'ready' }, to: { queue: 'claimed', status: 'PROCESSING' } },
  giveBack: { from: { queue: 'claimed' }, to: { queue: 'ready', status: 'PENDING' } },
  retryLater: { from: { queue: 'claimed' }, to: { queue: 'later', status: 'PENDING' } },
  promote: { from: { queue: 'later' }, to: { queue: 'ready' } },
  decide: { from: { queue: 'claimed' }, to: { queue: 'decided' } },
  complete: { from: { queue: 'decided' }, to: { queue: null, status: 'COMPLETED' } },
  fail: { from: { queue: 'decided' }, to: { queue: null, status: 'FAILED' } },
  stop: { from: { queue: 'decided' }, to: { queue: null, status: 'CANCELLED' } },
  cancel: { from: { queue: ['ready', 'later'] }, to: { queue: null, status: 'CANCELLED' } },
} as const satisfies Record<string, ItemTransition>;

/** The transition that ends a job, by its final status. */
export const JOB_END_TRANSITIONS = {
  COMPLETED: JOB_TRANSITIONS.complete,
  FAILED: JOB_TRANSITIONS.fail,
  CANCELLED: JOB_TRANSITIONS.endCancelled,
} as const;

/** The transition that ends an item, by the status of its outcome. */
export const ITEM_END_TRANSITIONS = {
  COMPLETED: ITEM_TRANSITIONS.complete,
  FAILED: ITEM_TRANSITIONS.fail,
  CANCELLED: ITEM_TRANSITIONS.stop,
} as const satisfies Record<OutcomeStatus, ItemTransition>;

/** The filter that matches documents in the state in which a transition begins. */
export function transitionFilter({ from }: StateTransition): DocumentFilter {
  return Object.fromEntries(
    Object.entries(from).map(([field, value]) => [field, Array.isArray(value) ? { $in: value } : value]),
  );
}

/** The update that makes a transition, together with other changes of the document. */
export function transitionUpdate(
  { to }: StateTransition,
  { $set, $unset, ...others }: DocumentUpdate = {},
): DocumentUpdate {
  const state = Object.entries(to);
  const set = { ...Object.fromEntries(state.filter(([, value]) => value !== null)), ...$set };
  const removed = state.filter(([, value]) => value === null).map(([field]) => [field, '']);
  const unset = { ...Object.fromEntries(removed), ...$unset };
  return {
    ...(Object.keys(set).length > 0 && { $set: set }),
    ...(Object.keys(unset).length > 0 && { $unset: unset }),
    ...others,
  };
}
