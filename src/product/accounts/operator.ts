import { randomText } from '../../platform/ids/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { invalidateCredentials } from './revocations.ts';
import { hashPassword } from './sign-in/passwords.ts';
import type { AccountsStore } from './store.ts';

interface OperatorOptions {
  store: AccountsStore;
  coordination: Coordination;
  now: () => Date;
}

/**
 * The operator's commands on an account. Every process sees a change at once: the account's credentials are flagged,
 * and a process that reads a flag looks them up again. Each command returns false when there is no such account.
 */
export interface Operator {
  /** Sets a new password. The old one and every session of the account end. */
  changePassword(accountId: string, password: string): Promise<boolean>;
  /** Refuses the account's calls until it is resumed. Work that was accepted before goes on. */
  suspend(accountId: string): Promise<boolean>;
  resume(accountId: string): Promise<boolean>;
  setPlan(accountId: string, plan: string): Promise<boolean>;
  /** Closes the account for good: its keys, its sessions and its sign-in. Its e-mail address is free again. */
  close(accountId: string): Promise<boolean>;
  /** Ends every session of the account. @returns how many sessions ended. */
  endSessions(accountId: string): Promise<number>;
}

export function createOperator({ store, coordination, now }: OperatorOptions): Operator {
  async function endSessions(accountId: string): Promise<number> {
    const sessions = await store.findSessions(accountId);
    await store.removeSessions(accountId);
    await invalidateCredentials(coordination, idsOf(sessions));
    return sessions.length;
  }

  async function changed(
    accountId: string,
    change: Parameters<AccountsStore['change']>[1],
  ): Promise<boolean> {
    if (!(await store.change(accountId, change))) return false;
    const [keys, sessions] = await Promise.all([
      store.findLiveKeys(accountId),
      store.findSessions(accountId),
    ]);
    await invalidateCredentials(coordination, idsOf([...keys, ...sessions]));
    return true;
  }

  return {
    endSessions,
    async changePassword(accountId, password) {
      const isThere = await store.change(accountId, { passwordHash: await hashPassword(password) });
      if (isThere) await endSessions(accountId);
      return isThere;
    },
    suspend: (accountId) => changed(accountId, { suspendedAt: now().toISOString() }),
    resume: (accountId) => changed(accountId, { suspendedAt: null }),
    setPlan: (accountId, plan) => changed(accountId, { plan }),
    async close(accountId) {
      const keys = await store.findLiveKeys(accountId);
      const isThere = await store.change(accountId, {
        email: `${accountId}@deleted.invalid`,
        name: 'deleted',
        passwordHash: await hashPassword(randomText(20)),
        deletedAt: now().toISOString(),
      });
      if (!isThere) return false;
      for (const { _id } of keys) await store.revokeKey(accountId, _id, now());
      await invalidateCredentials(coordination, idsOf(keys));
      await endSessions(accountId);
      return true;
    },
  };
}

function idsOf(documents: ReadonlyArray<{ _id: string }>): string[] {
  return documents.map(({ _id }) => _id);
}
