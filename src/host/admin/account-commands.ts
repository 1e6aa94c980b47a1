import { newId, randomText } from '../../platform/names/ids.ts';
import type { Documents } from '../../platform/stores/documents/port.ts';
import { createAccount, createKey } from '../../product/accounts/accounts.ts';
import { createOperator, type Operator } from '../../product/accounts/operator.ts';
import { type AccountDocument, AccountsStore } from '../../product/accounts/store.ts';
import { createMovements } from '../../product/billing/movements.ts';
import { BillingStore } from '../../product/billing/store.ts';
import { removeDataOf } from './account-data.ts';
import { type Command, type CommandAnswer, type CommandContext, type Given, UsageError } from './command.ts';

/** The largest grant. A balance of nine thousand of them can still be counted exactly. */
const MOST_CREDITS = 1_000_000_000_000;

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const PASSWORD = /^.{8,200}$/su;

export const ACCOUNT_COMMANDS: readonly Command[] = [
  {
    name: 'account create',
    about: 'Makes an account with one API key. Without --password one is made up and printed once.',
    takes: [],
    options: { email: 'ADDRESS', plan: 'PLAN', credits: 'N', name: 'NAME', password: 'PASSWORD' },
    run: create,
  },
  { name: 'account list', about: 'Lists every account.', takes: [], options: {}, run: list },
  {
    name: 'account show',
    about: 'Shows an account with its credits, its live keys and its sessions.',
    takes: ['ACCOUNT'],
    options: {},
    run: show,
  },
  {
    name: 'account credit',
    about: 'Grants credits to an account.',
    takes: ['ACCOUNT', 'N'],
    options: {},
    run: credit,
  },
  {
    name: 'account plan',
    about: 'Puts an account on another plan; its next call is on it.',
    takes: ['ACCOUNT', 'PLAN'],
    options: {},
    run: changePlan,
  },
  {
    name: 'account password',
    about: 'Sets a new password and ends every session of the account.',
    takes: ['ACCOUNT'],
    options: { password: 'PASSWORD' },
    run: changePassword,
  },
  {
    name: 'account suspend',
    about: 'Refuses every call of the account at once, until it is resumed.',
    takes: ['ACCOUNT'],
    options: {},
    run: (given, context) => changed(given, context, 'suspended', (operator, id) => operator.suspend(id)),
  },
  {
    name: 'account resume',
    about: 'Lets a suspended account call again.',
    takes: ['ACCOUNT'],
    options: {},
    run: (given, context) => changed(given, context, 'resumed', (operator, id) => operator.resume(id)),
  },
  {
    name: 'account delete',
    about:
      'Ends an account for good: keys, sessions, sign-in, assets, templates, presets, webhooks and feedback. Its jobs, ledger and usage stay.',
    takes: ['ACCOUNT'],
    options: { yes: null },
    run: remove,
  },
];

async function create(
  { options }: Given,
  { documents, planIds, now }: CommandContext,
): Promise<CommandAnswer> {
  const email = String(options.email ?? '');
  if (!EMAIL.test(email)) throw new UsageError('--email must be an e-mail address.');
  const plan = checkedPlan(String(options.plan ?? 'free'), planIds, '--plan');
  const credits = creditsOf(String(options.credits ?? '0'), 0);
  const password = checkedPassword(options.password);
  const name = typeof options.name === 'string' ? { name: options.name } : {};
  const store = await AccountsStore.open(documents);
  const account = await createAccount(store, { email, password, plan, ...name }, now());
  if (credits > 0) await grant(account._id, credits, documents, now);
  const { key } = await createKey(store, account._id, 'first key', now());
  const data = { account: publicAccount(account, credits), password, key };
  return {
    data,
    text: `Account ${account._id} (${email}, ${plan}, ${credits} credits)\npassword: ${password}\nAPI key:  ${key}`,
  };
}

async function list(_given: Given, { documents }: CommandContext): Promise<CommandAnswer> {
  const accounts = await AccountsStore.open(documents);
  const all = await accounts.findEveryAccount();
  const ids = all.map(({ _id }) => _id);
  const balances = await (await BillingStore.open(documents)).balancesOf(ids);
  const rows = all.map((account) => publicAccount(account, balances.get(account._id) ?? 0));
  const lines = rows.map(
    ({ id, email, plan, balance, state }) =>
      `${id}  ${email}  ${plan}  ${balance} credits${state === 'active' ? '' : `  ${state}`}`,
  );
  const text =
    lines.length > 0 ? lines.join('\n') : 'No accounts yet: the first start of the service makes one.';
  return { data: { accounts: rows }, text };
}

async function show({ words }: Given, { documents }: CommandContext): Promise<CommandAnswer> {
  const [id = ''] = words;
  const store = await AccountsStore.open(documents);
  const account = await store.find(id);
  if (account === null) throw noAccount(id);
  const [keys, sessions, { balance }] = await Promise.all([
    store.findLiveKeys(id),
    store.findSessions(id),
    BillingStore.open(documents).then((billing) => billing.findCredits(id)),
  ]);
  const shown = {
    ...publicAccount(account, balance),
    keys: keys.length,
    sessions: sessions.length,
  };
  const text = Object.entries(shown).map(([name, value]) => `${name}: ${value}`);
  return { data: { account: shown }, text: text.join('\n') };
}

async function credit({ words }: Given, { documents, now }: CommandContext): Promise<CommandAnswer> {
  const [id = '', amount = ''] = words;
  const credits = creditsOf(amount, 1);
  const accounts = await AccountsStore.open(documents);
  if ((await accounts.standingOf(id)) === null) throw noAccount(id);
  await grant(id, credits, documents, now);
  const balance = (await (await BillingStore.open(documents)).findCredits(id)).balance;
  return {
    data: { accountId: id, credits, balance },
    text: `${credits} credits granted; the balance is ${balance}.`,
  };
}

async function changePlan(given: Given, context: CommandContext): Promise<CommandAnswer> {
  const plan = checkedPlan(given.words[1] ?? '', context.planIds, 'PLAN');
  return changed(given, context, `on plan ${plan}`, (operator, id) => operator.setPlan(id, plan));
}

async function changePassword(given: Given, context: CommandContext): Promise<CommandAnswer> {
  const password = checkedPassword(given.options.password);
  const { data, text } = await changed(given, context, 'under a new password', (operator, id) =>
    operator.changePassword(id, password),
  );
  return { data: { ...data, password }, text: `${text}\npassword: ${password}` };
}

async function remove(given: Given, context: CommandContext): Promise<CommandAnswer> {
  if (given.options.yes !== true) {
    throw new UsageError('A deleted account does not come back: say --yes, or use account suspend.');
  }
  return changed(given, context, 'deleted', async (operator, id) => {
    const isThere = await operator.close(id);
    if (isThere) await removeDataOf(id, context);
    return isThere;
  });
}

/** A command that changes one account. */
async function changed(
  { words }: Given,
  { documents, coordination, now }: CommandContext,
  state: string,
  change: (operator: Operator, accountId: string) => Promise<boolean>,
): Promise<CommandAnswer> {
  const [id = ''] = words;
  const store = await AccountsStore.open(documents);
  if (!(await change(createOperator({ store, coordination, now }), id))) throw noAccount(id);
  return { data: { accountId: id, state }, text: `${id} is ${state}.` };
}

async function grant(
  accountId: string,
  credits: number,
  documents: Documents,
  now: () => Date,
): Promise<void> {
  const movements = createMovements(await BillingStore.open(documents), now);
  const reference = `grant/${newId('led', now().getTime())}`;
  await movements.move(accountId, {
    reference,
    type: 'grant',
    credits,
    heldChange: 0,
    note: 'granted by the operator',
  });
}

function creditsOf(text: string, least: number): number {
  const credits = Number(text);
  if (Number.isInteger(credits) && credits >= least && credits <= MOST_CREDITS) return credits;
  throw new UsageError(
    `"${text}" is no number of credits: a whole number from ${least} to ${MOST_CREDITS} is expected.`,
  );
}

function checkedPlan(plan: string, planIds: readonly string[], where: string): string {
  if (planIds.includes(plan)) return plan;
  throw new UsageError(`${where} must be one of ${planIds.join(', ')}.`);
}

/** The given password, or a new one. */
function checkedPassword(given: string | true | undefined): string {
  const password = String(given ?? randomText(20));
  if (!PASSWORD.test(password)) throw new UsageError('--password must be 8 to 200 characters.');
  return password;
}

function noAccount(id: string): UsageError {
  return new UsageError(`There is no account ${id}.`);
}

function publicAccount(account: AccountDocument, balance: number) {
  const { _id: id, email, name, plan, createdAt } = account;
  return { id, email, name, plan, createdAt, balance, state: stateOf(account) };
}

function stateOf({ suspendedAt, deletedAt }: AccountDocument): 'active' | 'suspended' | 'deleted' {
  if (deletedAt !== undefined) return 'deleted';
  return suspendedAt == null ? 'active' : 'suspended';
}
