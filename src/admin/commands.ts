import { parseArgs } from 'node:util';
import { createAccount, createKey } from '../accounts/accounts.ts';
import { REVOCATION_MARK_MS } from '../accounts/authentication.ts';
import { type AccountDocument, AccountsStore } from '../accounts/store.ts';
import { createMovements } from '../billing/movements.ts';
import { openBillingStore } from '../billing/store.ts';
import { newId, randomText } from '../names/ids.ts';
import type { Coordination } from '../stores/coordination/port.ts';
import type { Documents } from '../stores/documents/port.ts';

export interface CommandContext {
  documents: Documents;
  coordination: Coordination;
  planIds: readonly string[];
  now: () => Date;
}

/** What a command answers: an object for `--json`, and the same for a person. */
export interface CommandAnswer {
  data: Record<string, unknown>;
  text: string;
}

/** The call was wrong; the message says how it goes. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const USAGE = `Commands of the operator:
  account create --email ADDRESS [--plan PLAN] [--credits N] [--name NAME] [--password PASSWORD]
  account credit ID N
  account list
  key create ACCOUNT [--name NAME]
  key revoke KEY_ID
Every command takes --json.`;

/** Of one grant. A balance of nine thousand of them can still be counted exactly. */
const MOST_CREDITS = 1_000_000_000_000;

const EMAIL = /^[^\s@]+@[^\s@]+$/;
const PASSWORD = /^.{8,200}$/su;

/**
 * Runs one command of the operator against the stores.
 * @throws UsageError or ApiError with a sentence for the operator.
 */
export async function runCommand(words: readonly string[], context: CommandContext): Promise<CommandAnswer> {
  const { positionals, values } = parsed(words);
  const [noun, verb, ...rest] = positionals;
  switch (`${noun} ${verb}`) {
    case 'account create':
      return accountCreate(values, context);
    case 'account credit':
      return accountCredit(rest, context);
    case 'account list':
      return accountList(context);
    case 'key create':
      return keyCreate(rest, values, context);
    case 'key revoke':
      return keyRevoke(rest, context);
    default:
      throw new UsageError(USAGE);
  }
}

type Values = Record<string, string | boolean | undefined>;

function parsed(words: readonly string[]): { positionals: string[]; values: Values } {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        email: text,
        plan: text,
        credits: text,
        name: text,
        password: text,
        json: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`);
  }
}

async function accountCreate(
  values: Values,
  { documents, planIds, now }: CommandContext,
): Promise<CommandAnswer> {
  const email = String(values.email ?? '');
  if (!EMAIL.test(email)) throw new UsageError('--email must be an e-mail address.');
  const plan = String(values.plan ?? 'free');
  if (!planIds.includes(plan)) throw new UsageError(`--plan must be one of ${planIds.join(', ')}.`);
  const credits = creditsOf(String(values.credits ?? '0'), 0);
  const password = String(values.password ?? randomText(20));
  if (!PASSWORD.test(password)) throw new UsageError('--password must be 8 to 200 characters.');
  const name = typeof values.name === 'string' ? { name: values.name } : {};
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

async function accountCredit(
  [id = '', amount = '']: string[],
  { documents, now }: CommandContext,
): Promise<CommandAnswer> {
  const credits = creditsOf(amount, 1);
  const accounts = await AccountsStore.open(documents);
  if ((await accounts.find(id)) === null) throw new UsageError(`There is no account ${id}.`);
  await grant(id, credits, documents, now);
  const balance = (await balancesOf([id], documents)).get(id) ?? 0;
  return {
    data: { accountId: id, credits, balance },
    text: `${credits} credits granted; the balance is ${balance}.`,
  };
}

async function accountList({ documents }: CommandContext): Promise<CommandAnswer> {
  const accounts = await AccountsStore.open(documents);
  const all = await accounts.findEveryAccount();
  const ids = all.map(({ _id }) => _id);
  const balances = await balancesOf(ids, documents);
  const rows = all.map((account) => publicAccount(account, balances.get(account._id) ?? 0));
  const lines = rows.map(({ id, email, plan, balance }) => `${id}  ${email}  ${plan}  ${balance} credits`);
  return { data: { accounts: rows }, text: lines.join('\n') };
}

async function keyCreate(
  [accountId = '']: string[],
  values: Values,
  { documents, now }: CommandContext,
): Promise<CommandAnswer> {
  const store = await AccountsStore.open(documents);
  if ((await store.find(accountId)) === null) throw new UsageError(`There is no account ${accountId}.`);
  const { apiKey, key } = await createKey(store, accountId, String(values.name ?? ''), now());
  const { _id: id, name, hint, createdAt } = apiKey;
  return { data: { apiKey: { id, accountId, name, hint, createdAt }, key }, text: `${id}\n${key}` };
}

async function keyRevoke(
  [keyId = '']: string[],
  { documents, coordination, now }: CommandContext,
): Promise<CommandAnswer> {
  const accounts = await AccountsStore.open(documents);
  const instant = now();
  if (!(await accounts.revokeAnyKey(keyId, instant))) throw new UsageError(`There is no live key ${keyId}.`);
  await coordination.mark(keyId, REVOCATION_MARK_MS);
  return { data: { keyId, revokedAt: instant.toISOString() }, text: `${keyId} is revoked.` };
}

async function balancesOf(
  accountIds: readonly string[],
  documents: Documents,
): Promise<ReadonlyMap<string, number>> {
  const { money } = await openBillingStore(documents);
  const rows = await money.find({ _id: { $in: accountIds } }, { fields: ['balance'] });
  return new Map(rows.map(({ _id, balance }) => [_id, balance]));
}

async function grant(
  accountId: string,
  credits: number,
  documents: Documents,
  now: () => Date,
): Promise<void> {
  const movements = createMovements(await openBillingStore(documents), now);
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

function publicAccount({ _id: id, email, name, plan, createdAt }: AccountDocument, balance: number) {
  return { id, email, name, plan, createdAt, balance };
}
