// needs: nothing
import t from 'tap';
import { type BootstrapResult, welcomeText } from '../../../src/product/accounts/bootstrap.ts';

const URL_HERE = 'http://127.0.0.1:3000';
const SIGN_IN = `${URL_HERE}/console/sign-in#lnk_abc`;

t.test('the first start ends in commands that can be copied as they stand', async (t) => {
  const account = { email: 'owner@localhost' } as BootstrapResult['account'];
  const text = welcomeText(URL_HERE, { account, password: 'secret word', key: 'drk_abc' }, SIGN_IN);
  const lines = text.split('\n');
  t.ok(
    lines.some((line) => line.endsWith(`console:       ${SIGN_IN}`)),
    'the link that signs in once',
  );
  t.match(text, /sign-in: +owner@localhost {2}password: secret word\n/);
  const at = lines.indexOf('export KEY=drk_abc');
  t.same([lines[at - 1], lines[at + 1]], ['', ''], 'between blank lines');
  t.match(
    text,
    /curl --fail-with-body -H "Authorization: ApiKey \$KEY".*\n.*\n.*\/api\/v1\/images\/render -o card\.png\n/,
  );
});

t.test('a later start tells the address alone', async (t) => {
  const text = welcomeText(URL_HERE, null, null);
  t.match(text, /listening on http:\/\/127\.0\.0\.1:3000\n/);
  t.match(text, /console: +http:\/\/127\.0\.0\.1:3000\/console\n/);
  t.notMatch(text, /KEY|password|lnk_/);
});
