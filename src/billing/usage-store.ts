import type { Collection, Documents } from '../stores/documents/port.ts';

/**
 * Counted calls of one account, op and API key within one hour or one day. What is stored grows with the hours in which
 * calls were made, and not with the calls.
 */
interface UsageCount {
  /** `account/start/op/key`: one document for all of these, whichever process counts first. */
  _id: string;
  accountId: string;
  op: string;
  /** Null for a console session. */
  apiKeyId: string | null;
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  /** All calls of the hour or the day. */
  sync: number;
  /** The last batch of each process that was added, by the process's name: a repeated batch adds nothing. */
  batches: Record<string, number>;
  /** The end of the hour or the day, and the plan's retention after it. */
  expiresAt: string;
}

export interface UsageHour extends UsageCount {
  /** `YYYY-MM-DDTHH`, UTC. */
  hour: string;
  /** Calls of each minute that has any, by `m00` to `m59`. */
  minutes: Record<string, number>;
}

export type UsageDay = UsageCount;

/** A call as earlier releases kept it, each in a document of its own. Read until the last one expires, never written. */
export interface SyncRun {
  _id: string;
  accountId: string;
  op: string;
  apiKeyId: string | null;
  at: string;
  day: string;
  expiresAt: string;
}

export interface UsageStore {
  hours: Collection<UsageHour>;
  days: Collection<UsageDay>;
  runs: Collection<SyncRun>;
}

export async function openUsageStore(documents: Documents): Promise<UsageStore> {
  const [hours, days, runs] = await Promise.all([
    documents.collection<UsageHour>({ name: 'usageHours', indexes: indexesBy('hour') }),
    documents.collection<UsageDay>({ name: 'usageDays', indexes: indexesBy('day') }),
    documents.collection<SyncRun>({ name: 'syncRuns', indexes: indexesBy('at') }),
  ]);
  return { hours, days, runs };
}

function indexesBy(start: string) {
  return [
    {
      name: 'account',
      fields: [
        ['accountId', 1],
        [start, 1],
      ] as const,
    },
    { name: 'expiresAt', fields: [['expiresAt', 1]] as const },
  ];
}
