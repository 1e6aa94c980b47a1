// needs: nothing
import t from 'tap';
import type { KeptRequest } from '../../../src/product/requests/kept-request.ts';
import { RecentRequests } from '../../../src/product/requests/recent-requests.ts';
import { withoutSecrets, withoutSecretsOfAddresses } from '../../../src/product/requests/secrets.ts';

const START_MS = Date.parse('2026-01-31T12:00:00Z');
const HOUR_MS = 3_600_000;

function request(id: string, atMs = START_MS, more: Partial<KeptRequest> = {}): KeptRequest {
  return {
    ...{ id, atMs, method: 'GET', path: '/api/v1/account', route: '/api/v1/account', status: 200 },
    ...{ durationMs: 1, bytesIn: null, bytesOut: 2, apiKeyId: null },
    ...{ serverTiming: null, warnings: null, refusal: null },
    ...more,
  };
}

const idsOf = (requests: RecentRequests, accountId: string, nowMs = START_MS) =>
  [...requests.newestFirst(accountId, nowMs)].map(({ id }) => id);

t.test('an account keeps its last requests, newest first', async (t) => {
  const requests = new RecentRequests({ requests: 3 });
  for (const id of ['a', 'b', 'c', 'd']) requests.add('acc_1', request(id));
  requests.add('acc_2', request('e'));
  t.same(idsOf(requests, 'acc_1'), ['d', 'c', 'b']);
  t.same(idsOf(requests, 'acc_2'), ['e']);
  t.same(idsOf(requests, 'acc_3'), []);
});

t.test('long texts are bounded by bytes per account', async (t) => {
  const requests = new RecentRequests({ accountBytes: 10_000 });
  const path = `/${'x'.repeat(1_900)}`;
  for (const id of ['a', 'b', 'c', 'd', 'e']) requests.add('acc_1', request(id, START_MS, { path }));
  t.same(idsOf(requests, 'acc_1'), ['e', 'd']);
  t.ok(requests.bytes <= 10_000);
});

t.test('many accounts take no more memory than a few: the quietest are forgotten', async (t) => {
  const requests = new RecentRequests({ bytes: 100_000 });
  requests.add('acc_busy', request('first'));
  let most = 0;
  for (let index = 0; index < 20_000; index += 1) {
    requests.add(`acc_${index}`, request(`r${index}`));
    if (index % 50 === 0) requests.add('acc_busy', request(`busy-${index}`));
    most = Math.max(most, requests.bytes);
  }
  t.ok(most > 90_000 && most <= 100_000, `${most} bytes`);
  t.same(idsOf(requests, 'acc_0'), []);
  t.ok(idsOf(requests, 'acc_busy').length > 100, 'an account that goes on calling stays');
});

t.test('requests of more than an hour ago are forgotten, and their memory with them', async (t) => {
  const requests = new RecentRequests();
  requests.add('acc_1', request('a'));
  requests.add('acc_2', request('b', START_MS + 1));
  t.same(idsOf(requests, 'acc_1', START_MS + HOUR_MS), ['a']);
  t.same(idsOf(requests, 'acc_1', START_MS + HOUR_MS + 1), []);
  requests.add('acc_2', request('c', START_MS + 2 * HOUR_MS));
  const only = new RecentRequests();
  only.add('acc_2', request('c', START_MS + 2 * HOUR_MS));
  t.equal(requests.bytes, only.bytes);
});

t.test('secrets are taken out of paths and messages', async (t) => {
  const rows: Array<[sent: string, kept: string]> = [
    ['/a?op=resize&width=8', '/a?op=resize&width=8'],
    ['/a', '/a'],
    ['/a?signature=abc&owner=acc_1', '/a?signature=[redacted]&owner=acc_1'],
    ['/a?Access_Token=abc', '/a?Access_Token=[redacted]'],
    ['/a?x%2Dapi%2Dkey=abc', '/a?x%2Dapi%2Dkey=[redacted]'],
    ['/a?key=drk_1&keyId=2', '/a?key=[redacted]&keyId=2'],
    ['/a?q=%E0%A4%A', '/a?q=%E0%A4%A'],
    ['/a?url=https://h.test/p.jpg', '/a?url=https://h.test/p.jpg'],
    [
      '/a?url=https%3A%2F%2Fu%3Ap%40h.test%2Fp.jpg',
      `/a?url=${encodeURIComponent('https://[redacted]@h.test/p.jpg')}`,
    ],
  ];
  for (const [sent, kept] of rows) t.equal(withoutSecrets(sent), kept, sent);
  t.ok(withoutSecrets(`/a?q=${'x'.repeat(20_000)}`).length < 2_100);
  const message = 'The url https://u:p@h.test/p.jpg?sig=1#x and "http://h.test/?a=b" were not read.';
  const shown =
    'The url https://[redacted]@h.test/p.jpg?[redacted]#x and "http://h.test/?[redacted]" were not read.';
  t.equal(withoutSecretsOfAddresses(message), shown);
  const fix = JSON.stringify([{ param: 'url', replace: 'https://h.test/?a=\\"b' }]);
  t.doesNotThrow(() => JSON.parse(withoutSecretsOfAddresses(fix)));
});
