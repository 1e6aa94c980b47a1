// needs: nothing
import t from 'tap';
import { OutboundRequests } from '../../../src/platform/outbound/outbound.ts';
import { always, serveTcp, words } from './listener.ts';

const LOOPBACK_V4 = words(`
  127.0.0.1 127.0.0.1. 127.1 127.0.1 127.000.000.001 2130706433 0x7f000001 0x7F000001 017700000001
  0177.0.0.1 0177.1 0x7f.1 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0x7f.0.1 127.0.0.0x1 127.0.0.01 0000177.0.0.1
  127.0x00.1 127.65535 127.0.65535 127.255.255.255 127.0.0.2 127.127.127.127 %31%32%37.0.0.1
  127%2E0%2E0%2E1 １２７.0.0.1 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.⓪.⓪.① 𝟏𝟐𝟕.𝟎.𝟎.𝟏 0 0.0.0.0 0x0 00 0.0
  0.1.2.3 0.255.255.255 [::127.0.0.1]
`);

const LOOPBACK_V6 = words(`
  [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [0::1] [::]
  [0:0:0:0:0:0:0:0] [::ffff:127.0.0.1] [::FFFF:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001]
  [::ffff:0:127.0.0.1] [::ffff:0:0] [::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::8.8.8.8]
  [64:ff9b:1::7f00:1] [64:ff9b:1:fffe::7f00:1] [2002:7f00:1::] [2002:7f00:0001::1] [2002:a00:1::1]
  [2002:808:808::1] [2001::1] [2001:0:7f00:1::] [2001:0:4136:e378:8000:63bf:80ff:fffe]
  [fe80::5efe:127.0.0.1] [2606:4700::5efe:7f00:1] [2606:4700::5efe:127.0.0.1]
  [2606:4700::200:5efe:a00:1] [2606:4700:1:2:0:5efe:808:808]
`);

const SPECIAL_V4 = words(`
  10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.64.0.1 100.127.255.255 169.254.0.1 169.254.169.254
  169.254.170.2 172.16.0.0 172.16.0.1 172.31.255.255 192.0.0.0 192.0.0.1 192.0.0.8 192.0.0.11
  192.0.0.170 192.0.0.255 192.0.2.1 192.0.2.255 192.88.99.1 192.168.0.0 192.168.0.1 192.168.255.255
  198.18.0.0 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 203.0.113.255 224.0.0.0 224.0.0.1
  239.255.255.255 240.0.0.0 240.0.0.1 254.1.1.1 255.255.255.255 0xa9fea9fe 2852039166
  0251.0376.0251.0376 0xa.0.0.1 012.1 167772161 3232235521 0xc0a80001 192.168.1 172.1048577 4294967295
`);

const SPECIAL_V6 = words(`
  [100::] [100::1] [100:0:0:1::1] [2001:2::1] [2001:2:0:ffff::1] [2001:10::1] [2001:1f:ffff::1]
  [2001:1ff:ffff::1] [2001:1::] [2001:1::4] [2001:db8::1] [2001:db8:ffff::1] [3fff::1]
  [3fff:fff:ffff::1] [4000::1] [5f00::1] [fc00::1] [fd00::1] [fd00:ec2::254] [fdff:ffff::1] [fe80::1]
  [febf::1] [fec0::1] [ff00::1] [ff01::1] [ff02::1] [ff05::2] [ff0e::1] [1::1] [::2] [::10.0.0.1]
  [::ffff:10.0.0.1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::1]
  [fe80::1%25lo] [fe80::1%lo] [e000::1]
`);

const NAMES = words(`
  localhost localhost. LOCALHOST LocalHost ｌｏｃａｌｈｏｓｔ loc%61lhost ⓛocalhost localhost.localdomain
  a.localhost ip6-localhost internal metadata.google.internal bücher.test xn--bcher-kva.test a..b .test
  a_b.test
`);

const TEXTS = [
  '',
  ' ',
  'http',
  'http:',
  'http://',
  'http:///',
  'https://',
  '//localhost/',
  '/etc/passwd',
  'localhost',
  '127.0.0.1:80',
  'file:///etc/passwd',
  'file://localhost/etc/passwd',
  'ftp://127.0.0.1/',
  'gopher://127.0.0.1:70/_',
  'dict://127.0.0.1/',
  'ldap://127.0.0.1/',
  'ws://127.0.0.1/',
  'data:image/png;base64,AAAA',
  'javascript:1',
  'blob:http://127.0.0.1/1',
  'unix:/var/run/x.sock',
  'http+unix://%2Fx.sock/',
  'about:blank',
  'http://[::1',
  'http://[::g]/',
  'http://256.256.256.256/',
  'http://1.2.3.4.5/',
  'http://0x100000000/',
  'http://127.0.0.1:65536/',
  'http://127.0.0.1:x/',
  'http://exa mple/',
  'http://<>/',
  'http://\0/',
  'view-source:http://127.0.0.1/',
];

const AROUND_LOOPBACK = [
  'http://public.test@127.0.0.1:PORT/',
  'http://user:secret@127.0.0.1:PORT/',
  'http://:secret@localhost:PORT/',
  'http:127.0.0.1:PORT',
  'http:/127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  '\thttp://127.0.0.1:PORT/',
  'ht\ntp://127.0.0.1:PORT/',
  'http://127.0.0.1:PORT#@public.test/',
  'http://127.0.0.1:PORT\\@public.test/',
  'http://127.0.0.1:PORT?@public.test/',
  'HTTP://127.0.0.1:PORT/',
  'http:////127.0.0.1:PORT/',
];

t.test('no spelling of a target that is not public reaches a listener', async (t) => {
  const canary = await serveTcp(t, (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n!'));
  const canaryV6 = await serveTcp(t, (socket) => socket.end(), '::1', canary.port);
  const outbound = new OutboundRequests({
    allowedSubnets: [],
    allowsHttp: true,
    resolve: always('127.0.0.1'),
  });
  const hosts = [...LOOPBACK_V4, ...LOOPBACK_V6, ...SPECIAL_V4, ...SPECIAL_V6, ...NAMES];
  const urls = [
    ...hosts.map((host) => `http://${host}:${canary.port}/a.png`),
    ...TEXTS,
    ...AROUND_LOOPBACK.map((url) => url.replace('PORT', String(canary.port))),
  ];
  t.ok(urls.length >= 150, `${urls.length} spellings`);
  for (const url of urls) {
    const expected = { code: 'invalid_param', param: 'url', status: 400 };
    await t.rejects(outbound.fetchImage(url, { limitBytes: 1000, timeoutMs: 5_000 }), expected, url);
    await t.rejects(outbound.checkWebhook(url), expected, url);
    const call = { headers: {}, body: new Uint8Array(1), answerTimeoutMs: 5_000 };
    await t.rejects(outbound.postWebhook(url, call), { name: 'OutboundError' }, url);
  }
  t.equal(canary.seen.connections, 0);
  t.equal(canaryV6.seen.connections, 0);
});

t.test('one address that is not public is enough to refuse a name', async (t) => {
  const canary = await serveTcp(t, (socket) => socket.end());
  const mixtures = [
    ['8.8.8.8', '127.0.0.1'],
    ['127.0.0.1', '8.8.8.8'],
    ['2606:4700::1', '::1'],
    ['8.8.8.8', 'fe80::1%lo'],
    ['nonsense'],
  ];
  for (const addresses of mixtures) {
    const outbound = new OutboundRequests({
      allowedSubnets: [],
      allowsHttp: true,
      resolve: always(...addresses),
    });
    const refused = outbound.fetchImage(`http://mixed.test:${canary.port}/`, {
      limitBytes: 10,
      timeoutMs: 5_000,
    });
    await t.rejects(refused, { code: 'invalid_param', param: 'url' }, addresses.join());
  }
  t.equal(canary.seen.connections, 0);
});

t.test(
  'names inside are not told apart: one that resolves to a private address from one that does not',
  async (t) => {
    const messages = new Set<string>();
    for (const resolve of [always('10.1.2.3'), always()]) {
      const outbound = new OutboundRequests({ allowedSubnets: [], allowsHttp: true, resolve });
      const call = { limitBytes: 10, timeoutMs: 5_000 };
      const refusal = await outbound.fetchImage('http://wiki.internal/', call).catch((error) => error);
      t.match(refusal, { code: 'invalid_param', param: 'url', details: undefined });
      messages.add(refusal.message);
      t.match(refusal.cause.message, /not a public address|does not resolve/, 'the log says which');
    }
    t.equal(messages.size, 1);
  },
);

t.test('a name that changes its answer is dialled by the answer that was vetted', async (t) => {
  const vetted = await serveTcp(
    t,
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\nvetted'),
    '127.0.0.2',
  );
  const canary = await serveTcp(t, (socket) => socket.end(), '127.0.0.1', vetted.port);
  let lookups = 0;
  const outbound = new OutboundRequests({
    allowedSubnets: ['127.0.0.2/32'],
    allowsHttp: true,
    resolve: async () => [{ address: lookups++ === 0 ? '127.0.0.2' : '127.0.0.1', family: 4 }],
  });
  const url = `http://rebinding.test:${vetted.port}/`;
  const { bytes } = await outbound.fetchImage(url, { limitBytes: 10, timeoutMs: 5_000 });
  t.equal(Buffer.from(bytes).toString(), 'vetted');
  t.equal(lookups, 1);
  await t.rejects(outbound.fetchImage(url, { limitBytes: 10, timeoutMs: 5_000 }), { code: 'invalid_param' });
  t.equal(canary.seen.connections, 0);
});

t.test('a webhook goes to https on 443 alone unless the operator opens more', async (t) => {
  const strict = new OutboundRequests({
    allowedSubnets: [],
    allowsHttp: false,
    resolve: always('8.8.8.8'),
  });
  const open = new OutboundRequests({ allowedSubnets: [], allowsHttp: true, resolve: always('8.8.8.8') });
  for (const url of ['http://a.test/', 'http://a.test:443/', 'https://a.test:8443/', 'https://a.test:80/']) {
    await t.rejects(strict.checkWebhook(url), { code: 'invalid_param', param: 'url' }, url);
    await t.resolves(open.checkWebhook(url), url);
  }
  for (const url of [
    'https://a.test/',
    'https://a.test:443/x?y',
    'https://8.8.8.8/',
    'https://[2606:4700::1]/',
  ]) {
    await t.resolves(strict.checkWebhook(url), url);
  }
  for (const url of ['https://u@a.test/', 'https://u:p@a.test/'])
    await t.rejects(open.checkWebhook(url), { code: 'invalid_param', param: 'url' });
});
