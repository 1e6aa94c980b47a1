import { randomText } from '../../platform/ids/ids.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { hashPassword } from './accounts.ts';
import { ACCOUNT_CHANGED_CHANNEL, invalidateCredentials } from './revocations.ts';
import type { AccountsStore } from './store.ts';

/**
 * The operator's commands on an account. A change takes effect in every process at once: it flags the credentials of
 * the account, and processes look up a flagged credential again. A command with a boolean result returns false if there
 * is no such account.
 */
export class AccountAdministration {
  readonly #store: AccountsStore;
  readonly #coordination: Coordination;
  readonly #now: () => Date;

  constructor(options: { store: AccountsStore; coordination: Coordination; now: () => Date }) {
    this.#store = options.store;
    this.#coordination = options.coordination;
    this.#now = options.now;
  }

  async endSessions(accountId: string): Promise<number> {
    const sessions = await this.#store.findSessions(accountId);
    await this.#store.removeSessions(accountId);
    await invalidateCredentials(this.#coordination, idsOf(sessions));
    return sessions.length;
  }

  /** Sets a new password. The old password and every session of the account become invalid. */
  async changePassword(accountId: string, password: string): Promise<boolean> {
    const isThere = await this.#store.change(accountId, { passwordHash: await hashPassword(password) });
    if (isThere) await this.endSessions(accountId);
    return isThere;
  }

  /** Refuses the account's calls until it is resumed. Accepted work continues. */
  suspend(accountId: string): Promise<boolean> {
    return this.#changeAndInvalidate(accountId, { suspendedAt: this.#now().toISOString() });
  }

  resume(accountId: string): Promise<boolean> {
    return this.#changeAndInvalidate(accountId, { suspendedAt: null });
  }

  setPlan(accountId: string, plan: string): Promise<boolean> {
    return this.#changeAndInvalidate(accountId, { plan });
  }

  /**
   * Closes the account for good, with its keys and sessions. Nobody can sign in to it any more, and its e-mail address
   * is free again.
   */
  async close(accountId: string): Promise<boolean> {
    const keys = await this.#store.findLiveKeys(accountId);
    const isThere = await this.#store.change(accountId, {
      email: `${accountId}@deleted.invalid`,
      name: 'deleted',
      passwordHash: await hashPassword(randomText(20)),
      deletedAt: this.#now().toISOString(),
    });
    if (!isThere) return false;
    for (const { _id } of keys) await this.#store.revokeKey(accountId, _id, this.#now());
    await invalidateCredentials(this.#coordination, idsOf(keys));
    await this.endSessions(accountId);
    await this.#coordination.publish(ACCOUNT_CHANGED_CHANNEL, accountId);
    return true;
  }

  async #changeAndInvalidate(
    accountId: string,
    change: Parameters<AccountsStore['change']>[1],
  ): Promise<boolean> {
    if (!(await this.#store.change(accountId, change))) return false;
    const [keys, sessions] = await Promise.all([
      this.#store.findLiveKeys(accountId),
      this.#store.findSessions(accountId),
    ]);
    await invalidateCredentials(this.#coordination, idsOf([...keys, ...sessions]));
    await this.#coordination.publish(ACCOUNT_CHANGED_CHANNEL, accountId);
    return true;
  }
}

function idsOf(documents: ReadonlyArray<{ _id: string }>): string[] {
  return documents.map(({ _id }) => _id);
}
