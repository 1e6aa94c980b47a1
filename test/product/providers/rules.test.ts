// needs: nothing
import t from 'tap';
import { readSettings } from '../../../config/index.ts';
import { completeBaseUrl, parseRetryAfterMs } from '../../../src/product/providers/exchange.ts';
import { nextAttemptDelayMs } from '../../../src/product/providers/open.ts';
import { providerErrorFromRefusal, redactSecrets } from '../../../src/product/providers/provider.ts';
import { createOfferCheck } from '../../../src/product/providers/registry.ts';

t.test(
  'a failed item is tried after each planned wait, later when the provider says so, and not past five minutes',
  (t) => {
    const waits = [10_000, 65_000];
    const table: [number, number | undefined, number | undefined][] = [
      [1, undefined, 10_000],
      [2, undefined, 65_000],
      [3, undefined, undefined],
      [1, 30_000, 30_000],
      [1, 1_000, 10_000],
      [2, 300_000, 300_000],
      [1, 300_001, undefined],
      [3, 1_000, undefined],
    ];
    for (const [attempt, asked, expected] of table)
      t.equal(nextAttemptDelayMs(attempt, waits, asked), expected, `${attempt} ${asked}`);
    t.equal(nextAttemptDelayMs(1, [], undefined), undefined);
    t.end();
  },
);

t.test('Retry-After is seconds or a date', (t) => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  t.equal(parseRetryAfterMs('7', now), 7_000);
  t.equal(parseRetryAfterMs('0.5', now), 500);
  t.equal(parseRetryAfterMs('Thu, 01 Jan 2026 00:01:00 GMT', now), 60_000);
  t.equal(parseRetryAfterMs('Wed, 31 Dec 2025 00:01:00 GMT', now), 0);
  t.equal(parseRetryAfterMs('soon', now), undefined);
  t.equal(parseRetryAfterMs(null, now), undefined);
  t.end();
});

t.test('a status and the kind of its error say whose fault it is', (t) => {
  const rows: [number, string, string][] = [
    [400, '', 'rejected'],
    [400, 'invalid_api_key', 'misconfigured'],
    [400, 'authentication_error', 'misconfigured'],
    [400, 'content_policy_violation', 'rejected'],
    [401, '', 'misconfigured'],
    [403, '', 'misconfigured'],
    [403, 'moderation_blocked', 'rejected'],
    [403, 'SAFETY', 'rejected'],
    [404, '', 'misconfigured'],
    [408, '', 'unavailable'],
    [409, '', 'unavailable'],
    [413, '', 'rejected'],
    [422, '', 'rejected'],
    [429, 'insufficient_quota', 'unavailable'],
    [502, '', 'unavailable'],
    [529, '', 'unavailable'],
  ];
  for (const [status, kind, verdict] of rows)
    t.equal(
      providerErrorFromRefusal({ status, kind, message: 'x' }).errorClass,
      verdict,
      `${status} ${kind}`,
    );
  t.end();
});

t.test('what a provider says is shown without keys and within bounds', (t) => {
  const said = redactSecrets(
    'Key sk-abcdefgh12345 or r8_abcdefgh or AIzaSyA1234567890 or Bearer abc.def or mine',
    ['mine', ''],
  );
  t.notMatch(said, /abcdefgh|AIza|abc\.def|mine/);
  t.equal(redactSecrets('x'.repeat(900), []).length, 500);
  t.end();
});

t.test('a base URL that is a host alone gets the path of the provider', (t) => {
  const own = 'https://api.openai.com/v1';
  t.equal(completeBaseUrl('', own), own);
  t.equal(completeBaseUrl('http://localhost:11434', own), 'http://localhost:11434/v1');
  t.equal(completeBaseUrl('http://localhost:11434/', own), 'http://localhost:11434/v1');
  t.equal(completeBaseUrl('https://proxy.test/openai/v2/', own), 'https://proxy.test/openai/v2');
  t.end();
});

t.test('a provider is offered by its key or its base URL, the sandbox unless it is off', (t) => {
  const offered = (environment: Record<string, string>) => {
    const isOffered = createOfferCheck(readSettings(environment).providers);
    return (['openai', 'gemini', 'replicate', 'sandbox'] as const).filter(isOffered);
  };
  t.strictSame(offered({}), ['sandbox']);
  t.strictSame(offered({ SANDBOX_MODELS: 'off' }), []);
  t.strictSame(offered({ OPENAI_BASE_URL: 'http://127.0.0.1:1', GEMINI_API_KEY: 'x' }), [
    'openai',
    'gemini',
    'sandbox',
  ]);
  t.strictSame(offered({ REPLICATE_API_TOKEN: 'x' }), ['replicate', 'sandbox']);
  const refused = [
    { PROVIDER_RETRY_SECONDS: '10,soon' },
    { PROVIDER_RETRY_SECONDS: '301' },
    { OPENAI_BASE_URL: 'ftp://x' },
    { OPENAI_BASE_URL: 'http://user:password@x' },
    { SANDBOX_MODELS: 'maybe' },
  ];
  for (const environment of refused)
    t.throws(() => readSettings(environment), /is/, JSON.stringify(environment));
  t.strictSame(
    readSettings({ PROVIDER_RETRY_SECONDS: '1, 2,3' }).providers.PROVIDER_RETRY_SECONDS,
    [1, 2, 3],
  );
  t.end();
});
