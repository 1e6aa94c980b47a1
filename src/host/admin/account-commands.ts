import { newId, randomText } from '../../platform/ids/ids.ts';
import type { DocumentStore } from '../../platform/stores/documents/port.ts';
import { createAccount, createApiKey } from '../../product/accounts/accounts.ts';
import { AccountAdministration } from '../../product/accounts/operator.ts';
import { type AccountDocument, AccountsStore } from '../../product/accounts/store.ts';
import { CreditMovements } from '../../product/billing/movements.ts';
import { BillingStore } from '../../product/billing/store.ts';
import { COLLECTIONS } from '../collections.ts';
import {
  type AdminCommand,
  type CommandContext,
  type CommandResult,
  CommandUsageError,
  formatList,
  type ParsedCommandLine,
} from './command.ts';

/**
 * The most credits that one grant may add. Even nine thousand such grants stay below 2^53, so that balances are exact.
 */
const MAX_GRANTED_CREDITS = 1_000_000_000_000;

const EMAIL_PATTERN = /^[^\s@]+@[^\s@]+$/;
const PASSWORD_PATTERN = /^.{8,200}$/su;

export const ACCOUNT_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'account create',
    about: 'Makes an account with one API key. Without --password one is made up and printed once.',
    options: { email: 'ADDRESS', plan: 'PLAN', credits: 'N', name: 'NAME', password: 'PASSWORD' },
    async run({ options }, { documents, planIds, now }) {
      const email = String(options.email ?? '');
      if (!EMAIL_PATTERN.test(email)) throw new CommandUsageError('--email must be an e-mail address.');
      const plan = checkPlanId(String(options.plan ?? 'free'), planIds, '--plan');
      const credits = parseCredits(String(options.credits ?? '0'), 0);
      const password = givenOrRandomPassword(options.password);
      const name = typeof options.name === 'string' ? { name: options.name } : {};
      const store = new AccountsStore(documents);
      const account = await createAccount(store, { email, password, plan, ...name }, now());
      if (credits > 0) await grantCredits(account._id, credits, documents, now);
      const { key } = await createApiKey(store, account._id, 'first key', now());
      const summary = `Account ${account._id} (${email}, ${plan}, ${credits} credits)`;
      return {
        data: { account: publicAccount(account, credits), password, key },
        text: `${summary}\npassword: ${password}\nAPI key:  ${key}`,
      };
    },
  },
  {
    name: 'account list',
    about: 'Lists every account.',
    async run(_given, { documents }) {
      const all = await new AccountsStore(documents).findEveryAccount();
      const billing = new BillingStore(documents);
      const balances = await billing.readBalances(all.map(({ _id }) => _id));
      const accounts = all.map((account) => publicAccount(account, balances.get(account._id) ?? 0));
      const lines = accounts.map(
        ({ id, email, plan, balance, state }) =>
          `${id}  ${email}  ${plan}  ${balance} credits${state === 'active' ? '' : `  ${state}`}`,
      );
      const none = 'No accounts yet: the first start of the service makes one.';
      return { data: { accounts }, text: formatList(lines, none) };
    },
  },
  {
    name: 'account show',
    about: 'Shows an account with its credits, its live keys and its sessions.',
    takes: ['ACCOUNT'],
    async run({ words: [id = ''] }, { documents }) {
      const store = new AccountsStore(documents);
      const found = await store.find(id);
      if (found === null) throw noAccountError(id);
      const [keys, sessions, { balance }] = await Promise.all([
        store.findLiveKeys(id),
        store.findSessions(id),
        readCredits(documents, id),
      ]);
      const account = { ...publicAccount(found, balance), keys: keys.length, sessions: sessions.length };
      const lines = Object.entries(account).map(([name, value]) => `${name}: ${value}`);
      return { data: { account }, text: lines.join('\n') };
    },
  },
  {
    name: 'account credit',
    about: 'Grants credits to an account.',
    takes: ['ACCOUNT', 'N'],
    async run({ words: [accountId = '', amount = ''] }, { documents, now }) {
      const credits = parseCredits(amount, 1);
      await openAccountsStoreFor(accountId, documents);
      await grantCredits(accountId, credits, documents, now);
      const { balance } = await readCredits(documents, accountId);
      return {
        data: { accountId, credits, balance },
        text: `${credits} credits granted; the balance is ${balance}.`,
      };
    },
  },
  {
    name: 'account plan',
    about: 'Puts an account on another plan; its next call is on it.',
    takes: ['ACCOUNT', 'PLAN'],
    async run(given, context) {
      const plan = checkPlanId(given.words[1] ?? '', context.planIds, 'PLAN');
      return setAccountState(given, context, `on plan ${plan}`, (operator, id) => operator.setPlan(id, plan));
    },
  },
  {
    name: 'account password',
    about: 'Sets a new password and ends every session of the account.',
    takes: ['ACCOUNT'],
    options: { password: 'PASSWORD' },
    async run(given, context) {
      const password = givenOrRandomPassword(given.options.password);
      const { data, text } = await setAccountState(given, context, 'under a new password', (operator, id) =>
        operator.changePassword(id, password),
      );
      return { data: { ...data, password }, text: `${text}\npassword: ${password}` };
    },
  },
  {
    name: 'account suspend',
    about: 'Refuses every call of the account at once, until it is resumed.',
    takes: ['ACCOUNT'],
    run: (given, context) =>
      setAccountState(given, context, 'suspended', (operator, id) => operator.suspend(id)),
  },
  {
    name: 'account resume',
    about: 'Lets a suspended account call again.',
    takes: ['ACCOUNT'],
    run: (given, context) =>
      setAccountState(given, context, 'resumed', (operator, id) => operator.resume(id)),
  },
  {
    name: 'account delete',
    about:
      'Ends an account for good: keys, sessions, sign-in, assets, templates, presets, webhooks and feedback. Its jobs, ledger and usage stay.',
    takes: ['ACCOUNT'],
    options: { yes: null },
    async run(given, context) {
      if (given.options.yes !== true)
        throw new CommandUsageError('This cannot be undone: pass --yes, or use account suspend.');
      return setAccountState(given, context, 'deleted', async (operator, id) => {
        const wasFound = await operator.close(id);
        if (wasFound) await removeAccountData(id, context);
        return wasFound;
      });
    },
  },
];

/**
 * Applies `change` to the account that the command names. Throws if there is no such account.
 * @returns the new state of the account, as the result of the command.
 */
async function setAccountState(
  { words: [accountId = ''] }: ParsedCommandLine,
  { documents, coordination, now }: CommandContext,
  state: string,
  change: (operator: AccountAdministration, accountId: string) => Promise<boolean>,
): Promise<CommandResult> {
  const store = new AccountsStore(documents);
  if (!(await change(new AccountAdministration({ store, coordination, now }), accountId)))
    throw noAccountError(accountId);
  return { data: { accountId, state }, text: `${accountId} is ${state}.` };
}

/**
 * Deletes the documents of a deleted account, or makes them expire, as the declaration of each collection says. A sweep
 * removes expired assets together with their files. The ledger, the usage and the jobs stay for accounting until their
 * own retention ends.
 */
async function removeAccountData(accountId: string, { documents, now }: CommandContext): Promise<void> {
  for (const spec of COLLECTIONS) {
    if (spec.onAccountDeletion === 'keep') continue;
    const collection = documents.collection(spec);
    if (spec.onAccountDeletion === 'delete') await collection.deleteMany({ accountId });
    else await collection.updateMany({ accountId }, { $set: { expiresAt: now().toISOString() } });
  }
}

async function grantCredits(accountId: string, credits: number, documents: DocumentStore, now: () => Date) {
  const movements = new CreditMovements(new BillingStore(documents), now);
  const reference = `grant/${newId('led', now().getTime())}`;
  const note = 'granted by the operator';
  await movements.move(accountId, { reference, type: 'grant', credits, heldChange: 0, note });
}

async function readCredits(documents: DocumentStore, accountId: string) {
  return new BillingStore(documents).findCredits(accountId);
}

/**
 * Opens the accounts store, after checking that the account exists.
 * @throws CommandUsageError
 */
export async function openAccountsStoreFor(
  accountId: string,
  documents: DocumentStore,
): Promise<AccountsStore> {
  const store = new AccountsStore(documents);
  if ((await store.findAccountStatus(accountId)) === null) throw noAccountError(accountId);
  return store;
}

function parseCredits(text: string, least: number): number {
  const credits = Number(text);
  if (Number.isInteger(credits) && credits >= least && credits <= MAX_GRANTED_CREDITS) return credits;
  throw new CommandUsageError(
    `"${text}" is not a number of credits: a whole number from ${least} to ${MAX_GRANTED_CREDITS} is expected.`,
  );
}

function checkPlanId(plan: string, planIds: readonly string[], where: string): string {
  if (planIds.includes(plan)) return plan;
  throw new CommandUsageError(`${where} must be one of ${planIds.join(', ')}.`);
}

/** The password that was given, or a new random one of 20 characters. */
function givenOrRandomPassword(given: string | true | undefined): string {
  const password = String(given ?? randomText(20));
  if (!PASSWORD_PATTERN.test(password))
    throw new CommandUsageError('--password must be 8 to 200 characters.');
  return password;
}

function noAccountError(id: string): CommandUsageError {
  return new CommandUsageError(`There is no account ${id}.`);
}

function publicAccount(account: AccountDocument, balance: number) {
  const { _id: id, email, name, plan, createdAt } = account;
  return { id, email, name, plan, createdAt, balance, state: accountStateOf(account) };
}

function accountStateOf({ suspendedAt, deletedAt }: AccountDocument): 'active' | 'suspended' | 'deleted' {
  if (deletedAt !== undefined) return 'deleted';
  return suspendedAt == null ? 'active' : 'suspended';
}
