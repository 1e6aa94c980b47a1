import { createKey } from '../../product/accounts/accounts.ts';
import { createOperator } from '../../product/accounts/operator.ts';
import { invalidateCredentials } from '../../product/accounts/revocations.ts';
import { AccountsStore } from '../../product/accounts/store.ts';
import { type Command, type CommandAnswer, type CommandContext, type Given, UsageError } from './command.ts';

export const KEY_COMMANDS: readonly Command[] = [
  {
    name: 'key create',
    about: 'Makes an API key of an account and prints it once.',
    takes: ['ACCOUNT'],
    options: { name: 'NAME' },
    run: create,
  },
  {
    name: 'key list',
    about: 'Lists the live keys of an account.',
    takes: ['ACCOUNT'],
    options: {},
    run: list,
  },
  { name: 'key revoke', about: 'Revokes a key at once.', takes: ['KEY_ID'], options: {}, run: revoke },
  {
    name: 'session revoke',
    about: 'Ends every console session of an account at once.',
    takes: ['ACCOUNT'],
    options: {},
    run: endSessions,
  },
];

async function create({ words, options }: Given, { documents, now }: CommandContext): Promise<CommandAnswer> {
  const [accountId = ''] = words;
  const store = await storeWith(accountId, documents);
  const { apiKey, key } = await createKey(store, accountId, String(options.name ?? ''), now());
  const { _id: id, name, hint, createdAt } = apiKey;
  return { data: { apiKey: { id, accountId, name, hint, createdAt }, key }, text: `${id}\n${key}` };
}

async function list({ words }: Given, { documents }: CommandContext): Promise<CommandAnswer> {
  const [accountId = ''] = words;
  const store = await storeWith(accountId, documents);
  const keys = (await store.findLiveKeys(accountId)).map(
    ({ _id: id, name, hint, createdAt, lastUsedAt }) => ({
      id,
      name,
      hint,
      createdAt,
      lastUsedAt,
    }),
  );
  const lines = keys.map(
    ({ id, hint, name, lastUsedAt }) => `${id}  ${hint}  ${name}  last used ${lastUsedAt ?? 'never'}`,
  );
  return { data: { keys }, text: lines.length > 0 ? lines.join('\n') : `${accountId} has no live key.` };
}

async function revoke(
  { words }: Given,
  { documents, coordination, now }: CommandContext,
): Promise<CommandAnswer> {
  const [keyId = ''] = words;
  const accounts = await AccountsStore.open(documents);
  const instant = now();
  if (!(await accounts.revokeAnyKey(keyId, instant))) throw new UsageError(`There is no live key ${keyId}.`);
  await invalidateCredentials(coordination, [keyId]);
  return { data: { keyId, revokedAt: instant.toISOString() }, text: `${keyId} is revoked.` };
}

async function endSessions(
  { words }: Given,
  { documents, coordination, now }: CommandContext,
): Promise<CommandAnswer> {
  const [accountId = ''] = words;
  const store = await storeWith(accountId, documents);
  const ended = await createOperator({ store, coordination, now }).endSessions(accountId);
  return { data: { accountId, ended }, text: `${ended} sessions of ${accountId} ended.` };
}

/** Opens the store after checking that the account exists. */
async function storeWith(accountId: string, documents: CommandContext['documents']): Promise<AccountsStore> {
  const store = await AccountsStore.open(documents);
  if ((await store.standingOf(accountId)) === null) {
    throw new UsageError(`There is no account ${accountId}.`);
  }
  return store;
}
