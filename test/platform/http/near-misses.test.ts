// needs: server, browser
import t from 'tap';
import { sharedServer } from '../../support/harness.ts';

/*
 * A search whose time grows with the square of a text takes minutes for these texts, in which nobody is served: a test
 * that gets no answer fails by its deadline.
 */

const server = await sharedServer();
const { key } = await server.account();
const LONG = 250_000;

t.test('long texts that are nearly right are refused like short ones', async (t) => {
  const scale = (text: string) => ({ op: 'resize', imageCount: 1, parameters: { scale: text } });
  const width = (text: string) => ({ op: 'resize', imageCount: 1, parameters: { width: text } });
  const since = (text: string) => ({ op: 'resize', parameters: { width: 8 }, from: { createdFrom: text } });
  const bodies: [string, string][] = [
    ['JSON after spaces', `${' '.repeat(LONG)}x`],
    ['JSON after brackets', `${'[ '.repeat(LONG / 100)}x`],
    ['a share of digits', JSON.stringify(scale(`${'1'.repeat(LONG)}y`))],
    ['a number of digits', JSON.stringify(width(`${'1'.repeat(LONG)}y`))],
    ['a number before spaces', JSON.stringify(width(`1${' '.repeat(LONG)}y`))],
    ['a date before letters', JSON.stringify(since(`2026-01-01${'T'.repeat(LONG)} x y`))],
    ['a date before spaces', JSON.stringify(since(`2026-01-01${' '.repeat(LONG)} x y`))],
  ];
  for (const [name, body] of bodies) {
    const answer = await server.call('/jobs?dryRun=true', {
      method: 'POST',
      key,
      body,
      type: 'application/json',
    });
    t.match([answer.status, answer.json.error.code], [400, 'invalid_param'], name);
  }
  const path = `/jobs?createdFrom=2026-01-01${'T'.repeat(15_000)}+x+y`;
  t.equal((await server.call(path, { key })).status, 400);
});

t.test('a remedy for a date is the same with a letter, spaces or both before the time', async (t) => {
  for (const text of ['2026/01/31T12:00Z', '2026/01/31  12:00Z', '2026-01-31 T 12:00Z']) {
    const { json } = await server.call(`/jobs?createdFrom=${encodeURIComponent(text)}`, { key });
    t.match(json.error.details.fix, [{ param: 'createdFrom', replace: '2026-01-31T12:00:00.000Z' }], text);
  }
});

t.test('the name of a font may be long', async (t) => {
  const html = `<p style="font-family: A${'-'.repeat(LONG)}x">a</p>`;
  const answer = await server.call('/images/render', {
    method: 'POST',
    key,
    json: { html, width: 50, height: 50 },
  });
  t.equal(answer.status, 200);
});
