// needs: server
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type CommandContext, CommandUsageError } from '../../../src/host/admin/command.ts';
import { commandHelp, runCommand } from '../../../src/host/admin/commands.ts';
import { adminSocketPath, askPrimary, openAdminSocket } from '../../../src/host/admin/socket.ts';
import { COLLECTIONS } from '../../../src/host/collections.ts';
import { startServer } from '../../support/harness.ts';
import { OPERATOR } from '../../support/operator.ts';

const server = await startServer(t);
const context: CommandContext = {
  ...server.stores,
  planIds: ['free', 'scale'],
  publicUrl: 'http://127.0.0.1:3000',
  now: () => new Date(),
  ...OPERATOR,
};
// biome-ignore lint/suspicious/noExplicitAny: tests reach into answers freely, and fail where one is not as expected.
const run = async (words: string): Promise<any> => (await runCommand(words.split(' '), context)).data;

t.test('an account is made with a password, a key and credits that work', async (t) => {
  const { account, password, key } = await run(
    'account create --email Ada@Example.test --plan scale --credits 25 --name Ada --json',
  );
  t.match(account, { email: 'ada@example.test', name: 'Ada', plan: 'scale', balance: 25 });
  t.match(account.id, /^acc_/);
  t.match(key, /^drk_/);
  const told = (await server.call('/account', { key })).json.data;
  t.match(told, { id: account.id, credits: { balance: 25 } });
  const signedIn = await server.call('/auth/sign-in', { json: { email: 'ada@example.test', password } });
  t.equal(signedIn.status, 201);
  const ledger = (await server.call('/credits/ledger', { key })).json.data;
  t.match(ledger, [{ type: 'grant', credits: 25, note: 'granted by the operator' }]);
});

t.test('the least that makes an account is an e-mail', async (t) => {
  const { account, key } = await run('account create --email plain@example.test');
  t.match(account, { name: 'plain@example.test', plan: 'free', balance: 0 });
  t.same((await server.call('/credits/ledger', { key })).json.data, []);
});

t.test('a given password is the one that signs in', async (t) => {
  await run('account create --email given@example.test --password correct-horse');
  const json = { email: 'given@example.test', password: 'correct-horse' };
  t.equal((await server.call('/auth/sign-in', { json })).status, 201);
});

t.test('credits are granted, and each grant is a movement', async (t) => {
  const { id, key } = await server.account();
  t.same(await run(`account credit ${id} 5`), { accountId: id, credits: 5, balance: 5 });
  t.same(await run(`account credit ${id} 5`), { accountId: id, credits: 5, balance: 10 });
  t.equal((await server.call('/credits/ledger', { key })).json.meta.total, 2);
});

t.test('a list names every account', async (t) => {
  const { id, email } = await server.account({ credits: 3 });
  const { accounts } = await run('account list');
  t.match(
    accounts.find((account: { id: string }) => account.id === id),
    { email, plan: 'scale', balance: 3 },
  );
  t.match((await runCommand(['account', 'list'], context)).text, `${id}  ${email}  scale  3 credits`);
});

t.test('a key is made, and revoked at once', async (t) => {
  const { id } = await server.account();
  const { apiKey, key } = await run(`key create ${id} --name robot`);
  t.match(apiKey, { accountId: id, name: 'robot', hint: `drk_…${key.slice(-4)}` });
  t.equal((await server.call('/account', { key })).json.data.id, id);
  t.match(await run(`key revoke ${apiKey.id}`), { keyId: apiKey.id });
  t.equal((await server.call('/account', { key })).status, 401);
  await t.rejects(run(`key revoke ${apiKey.id}`), CommandUsageError);
});

t.test(
  'a suspended account is refused at once in every process, and served again when it is resumed',
  async (t) => {
    const neighbour = await startServer(t, { stores: server.stores });
    const { id, key, email, password } = await server.account();
    const signIn = () => server.call('/auth/sign-in', { json: { email, password } });
    const session = (await signIn()).json.data.token;
    const calls = () =>
      Promise.all([
        server.call('/account', { key }),
        neighbour.call('/account', { key }),
        neighbour.call('/account', { session }),
      ]);
    for (const { status } of await calls()) t.equal(status, 200);
    t.match(await run(`account suspend ${id}`), { accountId: id, state: 'suspended' });
    for (const { status, json } of [...(await calls()), await signIn()]) {
      t.equal(status, 403);
      t.match(json.error, { code: 'forbidden', details: { reason: 'account_suspended' } });
    }
    t.match(await run(`account show ${id}`), {
      account: { id, email, state: 'suspended', keys: 1, sessions: 1 },
    });
    await run(`account resume ${id}`);
    for (const { status } of await calls()) t.equal(status, 200);
  },
);

t.test('a suspended account can still sign out, and its session is over when it is resumed', async (t) => {
  const { id, key, email, password } = await server.account();
  const session = (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
  await run(`account suspend ${id}`);
  const signOut = (credential: object) => server.call('/auth/sign-out', { method: 'POST', ...credential });
  t.equal((await signOut({ key })).status, 403, 'a key has no session to end');
  t.equal((await signOut({ session })).status, 204);
  t.equal((await signOut({ session })).status, 401);
  await run(`account resume ${id}`);
  t.equal((await server.call('/account', { session })).status, 401);
  t.equal((await server.call('/account', { key })).status, 200);
});

t.test('a new password ends the old one and every session', async (t) => {
  const { id, key, email, password } = await server.account();
  const session = (await server.call('/auth/sign-in', { json: { email, password } })).json.data.token;
  t.equal((await server.call('/account', { session })).status, 200);
  const { password: fresh } = await run(`account password ${id}`);
  t.equal((await server.call('/account', { session })).status, 401);
  t.equal((await server.call('/auth/sign-in', { json: { email, password } })).status, 401);
  const signedIn = await server.call('/auth/sign-in', { json: { email, password: fresh } });
  t.equal(signedIn.status, 201);
  t.match(await run(`session revoke ${id}`), { accountId: id, ended: 1 });
  t.equal((await server.call('/account', { session: signedIn.json.data.token })).status, 401);
  t.equal((await server.call('/account', { key })).status, 200, 'its keys are not touched');
});

t.test('another plan counts from the next call on', async (t) => {
  const { id, key } = await server.account({ plan: 'free' });
  t.equal((await server.call('/account', { key })).json.data.plan, 'free');
  await run(`account plan ${id} scale`);
  t.equal((await server.call('/account', { key })).json.data.plan, 'scale');
});

t.test('the keys of an account are listed without their texts', async (t) => {
  const { id, key, keyId } = await server.account();
  const { keys } = await run(`key list ${id}`);
  t.match(keys, [{ id: keyId, name: 'test key', hint: `drk_…${key.slice(-4)}` }]);
  t.notOk(JSON.stringify(keys).includes(key));
});

t.test('a deleted account is gone with what it kept, and its e-mail is free', async (t) => {
  const { id, key, email } = await server.account();
  const json = { name: 'Kept', html: '<p>', width: 10, height: 10 };
  t.equal((await server.call('/templates', { key, json })).status, 201);
  t.equal((await server.call('/collections', { key, json: { name: 'Holidays with A. B.' } })).status, 201);
  await t.rejects(run(`account delete ${id}`), { message: /pass --yes/ });
  await run(`account delete ${id} --yes`);
  t.equal((await server.call('/account', { key })).status, 401);
  for (const spec of COLLECTIONS.filter(({ onAccountDeletion }) => onAccountDeletion === 'delete')) {
    const collection = server.stores.documents.collection(spec);
    t.equal(await collection.count({ accountId: id }), 0, spec.name);
  }
  t.match((await run(`account create --email ${email}`)).account, { email });
  await t.rejects(run(`account suspend ${id}`), { message: `There is no account ${id}.` });
});

t.test('help is no mistake, wherever it is asked for', async (t) => {
  t.match(commandHelp(['--help']), /Commands of the operator(?:.|\n)*session revoke ACCOUNT/);
  t.match(commandHelp(['account', '--help']), /account suspend ACCOUNT\n +Refuses every call/);
  t.match(commandHelp(['key', 'list', '-h']), /^key list ACCOUNT\n +Lists the live keys of an account\.$/);
  t.equal(commandHelp(['account', 'list']), null);
  t.throws(() => commandHelp(['acount', '--help']), {
    message: /"acount" is not a command\. Did you mean account\? Commands are account, key, console, session/,
  });
});

t.test('a wrong command says how it goes', async (t) => {
  await run('account create --email taken@example.test');
  const { id } = await server.account();
  const rows: Array<[words: string, sentence: RegExp]> = [
    ['', /Commands of the operator/],
    ['account', /The verb after account is missing: create, list/],
    ['account destroy', /"account destroy" is not a command: account takes create, list/],
    ['acount list', /"acount" is not a command\. Did you mean account\?/],
    ['account list all', /"all" is one word too many: account list/],
    ['account create --email a@b --credits -5', /"-5" is not a number of credits/],
    [`account plan ${id} gold`, /PLAN must be one of free, scale/],
    ['account suspend acc_unknown', /There is no account acc_unknown/],
    ['account create --emial a@b', /Unknown option '--emial'/],
    ['account create', /--email must be/],
    ['account create --email nobody', /--email must be/],
    ['account create --email TAKEN@example.test', /exists already/],
    ['account create --email a@b --plan gold', /--plan must be one of free, scale/],
    ['account create --email a@b --credits 1.5', /"1.5" is not a number of credits/],
    ['account create --email a@b --password short', /--password must be 8 to 200/],
    ['account credit', /ACCOUNT and N are missing: account credit ACCOUNT N/],
    [`account credit ${id} 0`, /whole number from 1/],
    [`account credit ${id} 1e99`, /whole number from 1/],
    ['account credit acc_unknown 1', /There is no account acc_unknown/],
    ['key create acc_unknown', /There is no account acc_unknown/],
    ['key revoke key_unknown', /There is no live key key_unknown/],
  ];
  for (const [words, message] of rows) await t.rejects(run(words), { message }, words);
});

t.test('commands reach the primary by its socket, which is its own user’s alone', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  t.equal(await askPrimary(directory, ['account', 'list'], OPERATOR), null, 'there is no primary');
  await writeFile(adminSocketPath(directory), 'left by one that was killed');
  t.equal(await askPrimary(directory, ['account', 'list'], OPERATOR), null);

  const socket = await openAdminSocket(directory, context, (error) => t.error(error));
  t.equal((await stat(adminSocketPath(directory))).mode & 0o777, 0o600);
  const { id } = await server.account();
  const [credited, listed] = await Promise.all([
    askPrimary(directory, ['account', 'credit', id, '7'], OPERATOR),
    askPrimary(directory, ['account', 'list'], OPERATOR),
  ]);
  t.match(credited, { data: { accountId: id, balance: 7 }, text: /7 credits granted/ });
  t.match(listed?.data.accounts, [{ email: 'ada@example.test' }]);
  await t.rejects(askPrimary(directory, ['account', 'credit', id, 'many'], OPERATOR), {
    message: /"many" is not a number/,
  });
  const asAnotherUser = async () => askPrimary(directory, ['pools'], OPERATOR);
  if (process.seteuid !== undefined && process.getuid?.() === 0) {
    process.seteuid(65_534);
    await t.rejects(
      asAnotherUser().finally(() => process.seteuid?.(0)),
      {
        message: /^This user may not read DATA_DIR \(.*\): run the command as the user of the service\.$/,
      },
    );
  }
  await socket.close();
  t.equal(await askPrimary(directory, ['account', 'list'], OPERATOR), null);
  const deep = join(directory, 'long'.repeat(30));
  await mkdir(deep);
  await t.rejects(
    openAdminSocket(deep, context, (error) => t.error(error)),
    { message: /admin\.sock is too long for this system: give DATA_DIR a shorter path\.$/ },
  );
});
