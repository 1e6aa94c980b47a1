import { createApiKey } from '../../product/accounts/accounts.ts';
import { AccountAdministration } from '../../product/accounts/operator.ts';
import { invalidateCredentials } from '../../product/accounts/revocations.ts';
import { createSignInAddress } from '../../product/accounts/sign-in/sessions.ts';
import { AccountsStore } from '../../product/accounts/store.ts';
import { OperatorSessions } from '../operator/access.ts';
import { openAccountsStoreFor } from './account-commands.ts';
import { type AdminCommand, CommandUsageError, formatList } from './command.ts';

export const KEY_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'key create',
    about: 'Makes an API key of an account and prints it once.',
    takes: ['ACCOUNT'],
    options: { name: 'NAME' },
    async run({ words: [accountId = ''], options }, { documents, now }) {
      const store = await openAccountsStoreFor(accountId, documents);
      const { apiKey, key } = await createApiKey(store, accountId, String(options.name ?? ''), now());
      const { _id: id, name, hint, createdAt } = apiKey;
      return { data: { apiKey: { id, accountId, name, hint, createdAt }, key }, text: `${id}\n${key}` };
    },
  },
  {
    name: 'key list',
    about: 'Lists the live keys of an account.',
    takes: ['ACCOUNT'],
    async run({ words: [accountId = ''] }, { documents }) {
      const found = await (await openAccountsStoreFor(accountId, documents)).findLiveKeys(accountId);
      const keys = found.map(({ _id: id, name, hint, createdAt, lastUsedAt }) => {
        return { id, name, hint, createdAt, lastUsedAt };
      });
      const lines = keys.map(
        ({ id, hint, name, lastUsedAt }) => `${id}  ${hint}  ${name}  last used ${lastUsedAt ?? 'never'}`,
      );
      return { data: { keys }, text: formatList(lines, `${accountId} has no live key.`) };
    },
  },
  {
    name: 'key revoke',
    about: 'Revokes a key at once.',
    takes: ['KEY_ID'],
    async run({ words: [keyId = ''] }, { documents, coordination, now }) {
      const accounts = new AccountsStore(documents);
      const instant = now();
      if (!(await accounts.revokeAnyKey(keyId, instant)))
        throw new CommandUsageError(`There is no live key ${keyId}.`);
      await invalidateCredentials(coordination, [keyId]);
      return { data: { keyId, revokedAt: instant.toISOString() }, text: `${keyId} is revoked.` };
    },
  },
  {
    name: 'console',
    about:
      "Prints a link that signs in to the console once, within ten minutes: the oldest account, or this one. With --operator, it opens the operator's screens instead.",
    options: { account: 'ACCOUNT', operator: null },
    async run({ options: { account, operator } }, { documents, coordination, publicUrl, now }) {
      if (operator === true) {
        const link = await new OperatorSessions(coordination).createLink();
        // The part after # is sent to no server and appears in no log.
        const address = `${publicUrl}/console/operate#${link}`;
        return { data: { address }, text: address };
      }
      const store = new AccountsStore(documents);
      const given = typeof account === 'string' ? { accountId: account } : {};
      const address = await createSignInAddress(store, publicUrl, { ...given, now: now() });
      if (address === null) throw new CommandUsageError(`There is no account ${account ?? 'yet'}.`);
      return { data: { address }, text: address };
    },
  },
  {
    name: 'session revoke',
    about: 'Ends every console session of an account at once.',
    takes: ['ACCOUNT'],
    async run({ words: [accountId = ''] }, { documents, coordination, now }) {
      const store = await openAccountsStoreFor(accountId, documents);
      const ended = await new AccountAdministration({ store, coordination, now }).endSessions(accountId);
      return { data: { accountId, ended }, text: `${ended} sessions of ${accountId} ended.` };
    },
  },
];
