// needs: nothing
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { pathWithoutSecrets, textWithoutSecrets } from '../../../src/platform/http/redaction.ts';
import type { KeptRequest } from '../../../src/product/requests/kept-request.ts';
import { RecentRequests } from '../../../src/product/requests/recent-requests.ts';
import { answerRequestSearches, RequestSearch } from '../../../src/product/requests/search.ts';

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
  [...requests.listNewestFirst(accountId, nowMs)].map(({ id }) => id);

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

t.test('a long path takes about as much memory as is counted', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const requests = new RecentRequests();
  const before = used();
  for (let number = 0; number < 2_000; number += 1) {
    // A text of one byte for each character, as a server reads it.
    const sent = Buffer.from(`/a/${'x'.repeat(15_000)}?signature=${number}`).toString('latin1');
    requests.add(`acc_${number}`, request('a', START_MS, { path: pathWithoutSecrets(sent) }));
  }
  const growth = used() - before;
  t.ok(growth < 1.5 * requests.bytes, `${growth} bytes for ${requests.bytes}`);
});

t.test('a long word beside an address is read once', async (t) => {
  const url = `${encodeURIComponent('x://')}%20${'a'.repeat(400_000)}`;
  t.match(pathWithoutSecrets(`/a?url=${url}`), /^\/a\?url=x%3A%2F%2F%20a+…$/);
});

t.test('a page far behind the first one costs no longer messages between processes', async (t) => {
  const listeners = new Map<string, Set<(message: string) => void>>();
  let longest = 0;
  const channels = {
    subscribe: async (channel: string, listener: (message: string) => void) => {
      const of = listeners.get(channel) ?? new Set();
      listeners.set(channel, of.add(listener));
      return () => void of.delete(listener);
    },
    publish: async (channel: string, message: string) => {
      longest = Math.max(longest, message.length);
      const heard = [...(listeners.get(channel) ?? [])];
      for (const listener of heard) listener(message);
      return heard.length;
    },
  };
  const now = () => new Date(START_MS + 1_000);
  const all: string[] = [];
  for (const name of ['host/1', 'host/2']) {
    const requests = new RecentRequests();
    await answerRequestSearches(channels, requests, name, now);
    for (let number = 0; number < 900; number += 1) {
      const id = `${name}-${number}`;
      requests.add('acc_1', request(id, START_MS + number, { path: `/${'x'.repeat(300)}` }));
      all.push(id);
    }
  }
  const search = new RequestSearch(channels);
  const { rows: first } = await search.list('acc_1', {}, { perPage: 50 });
  t.equal(first.length, 50);
  const longestOfFirst = longest;
  const found: string[] = [];
  for (let page = 0; page < 18; page += 1) {
    const { rows, meta } = await search.list('acc_1', {}, { perPage: 100, page });
    t.match(meta, { total: 1_800, page, hasMore: page < 17 });
    found.push(...rows.map(({ id }) => id));
  }
  t.same(found.toSorted(), all.toSorted(), 'each request is on one page');
  t.ok(longest < 4 * longestOfFirst, `${longest} characters, and ${longestOfFirst} for the first page`);
  t.match(await search.list('acc_1', {}, { page: 18 }), { rows: [], meta: { hasMore: false, total: 1_800 } });
});

t.test('secrets are taken out of paths and messages', async (t) => {
  const rows: Array<[sent: string, kept: string]> = [
    ['/a?op=resize&width=8', '/a?op=resize&width=8'],
    ['/a', '/a'],
    ['/a?signature=abc&owner=acc_1', '/a?signature=[redacted]&owner=acc_1'],
    ['/a?Access_Token=abc', '/a?Access_Token=[redacted]'],
    ['/a?x%2Dapi%2Dkey=abc', '/a?x%2Dapi%2Dkey=[redacted]'],
    ['/a?key=drk_1&keyId=2', '/a?key=[redacted]&keyId=2'],
    [
      '/a?sig=abc&pwd=abc&secret_access_key=abc',
      '/a?sig=[redacted]&pwd=[redacted]&secret_access_key=[redacted]',
    ],
    ['/a?apiKeyId=key_1', '/a?apiKeyId=key_1'],
    [`/a/drk_${'aB3'.repeat(14)}?q=ses_${'aB3'.repeat(14)}`, '/a/[redacted]?q=[redacted]'],
    [`/a/drk%5F${'aB3'.repeat(14)}`, '/a/[redacted]'],
    [`/a?q=whsec_${'aB3%2F'.repeat(10)}%3D`, '/a?q=[redacted]'],
    ['/a/ses_0VyQ3k1Zb7abcdefghijklmn', '/a/ses_0VyQ3k1Zb7abcdefghijklmn'],
    ['/a?q=%E0%A4%A', '/a?q=%E0%A4%A'],
    ['/a?url=https://h.test/p.jpg', '/a?url=https://h.test/p.jpg'],
    [
      '/a?url=https%3A%2F%2Fu%3Ap%40h.test%2Fp.jpg',
      `/a?url=${encodeURIComponent('https://[redacted]@h.test/p.jpg')}`,
    ],
  ];
  for (const [sent, kept] of rows) t.equal(pathWithoutSecrets(sent), kept, sent);
  t.ok(pathWithoutSecrets(`/a?q=${'x'.repeat(20_000)}`).length < 2_100);
  const message = 'The url https://u:p@h.test/p.jpg?sig=1#x and "http://h.test/?a=b" were not read.';
  const shown =
    'The url https://[redacted]@h.test/p.jpg?[redacted]#x and "http://h.test/?[redacted]" were not read.';
  t.equal(textWithoutSecrets(message), shown);
  const fix = JSON.stringify([{ param: 'url', replace: 'https://h.test/?a=\\"b' }]);
  t.doesNotThrow(() => JSON.parse(textWithoutSecrets(fix)));
  const key = `drk_${'aB3'.repeat(14)}`;
  t.equal(textWithoutSecrets(`width is "${key}", but`), 'width is "[redacted]", but');
});
