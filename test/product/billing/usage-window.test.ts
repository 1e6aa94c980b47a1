// needs: nothing
import t from 'tap';
import { divideUsageWindow, parseUsageWindow } from '../../../src/product/billing/usage.ts';

const now = new Date('2026-03-31T12:34:56.789Z');

t.test('a window is the last 30 days by op unless told', async (t) => {
  t.same(parseUsageWindow({}, now), {
    from: new Date('2026-03-01T12:35:00.000Z'),
    to: new Date('2026-03-31T12:35:00.000Z'),
    groupBy: 'op',
  });
  t.same(parseUsageWindow({ to: '2026-03-31' }, now), {
    from: new Date('2026-03-01T00:00:00.000Z'),
    to: new Date('2026-03-31T00:00:00.000Z'),
    groupBy: 'op',
  });
});

t.test('dates and instants are read as they are meant, and rounded down to whole minutes', async (t) => {
  const rows: Array<[text: string, instant: string]> = [
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02t03:04:05.6z', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02T03:04:05.678901234Z', '2026-01-02T03:04:00.000Z'],
    ['2026-01-02T03:04:05+05:30', '2026-01-01T21:34:00.000Z'],
    ['2026-01-02T03:04:05-01:00', '2026-01-02T04:04:00.000Z'],
  ];
  for (const [from, instant] of rows) {
    const to = new Date(Date.parse(instant) + 60_000).toISOString();
    t.equal(parseUsageWindow({ from, to }, now).from.toISOString(), instant, from);
  }
});

t.test('what is no date, no instant or no window is refused by name', async (t) => {
  const malformed = [
    '',
    ' ',
    'yesterday',
    '2026',
    '2026-03',
    '2026-3-1',
    '2026-13-01',
    '2026-02-29',
    '2026-02-30T00:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T10:60:00Z',
    '2026-03-01T10:00:00',
    '2026-03-01 10:00:00Z',
    '2026-03-01T10:00:00+25:00',
    '1772323200',
    '2026-03-01Z',
  ];
  for (const text of malformed) {
    const [from, to] = [{ from: text }, { to: text }];
    t.throws(() => parseUsageWindow(from, now), { code: 'invalid_param', param: 'from' }, `from ${text}`);
    t.throws(() => parseUsageWindow(to, now), { code: 'invalid_param', param: 'to' }, `to ${text}`);
  }
  for (const groupBy of ['', 'OP', 'month'])
    t.throws(() => parseUsageWindow({ groupBy }, now), { code: 'invalid_param', param: 'groupBy' }, groupBy);
});

t.test('from is before to, by at most 366 days', async (t) => {
  const refused = [
    { from: '2026-03-01', to: '2026-03-01' },
    { from: '2026-03-02', to: '2026-03-01' },
    { from: '2026-04-01' },
    { from: '2026-03-01T10:00:01Z', to: '2026-03-01T10:00:59Z' },
    { from: '2025-03-01', to: '2026-03-02T00:01:00Z' },
    { from: '2025-03-01', to: '2026-03-03' },
  ];
  for (const query of refused)
    t.throws(
      () => parseUsageWindow(query, now),
      { code: 'invalid_param', param: 'from' },
      JSON.stringify(query),
    );
  t.ok(parseUsageWindow({ from: '2025-03-01', to: '2026-03-02' }, now));
});

t.test('a window is taken apart into days, hours and hours that it cuts through', async (t) => {
  const empty = (day: string) => ({ from: day, to: day });
  const rows: Array<[from: string, to: string, parts: object]> = [
    [
      '2026-03-01T22:30:00Z',
      '2026-03-04T02:15:00Z',
      {
        days: { from: '2026-03-02', to: '2026-03-04' },
        hours: [
          { from: '2026-03-01T23', to: '2026-03-02T00' },
          { from: '2026-03-04T00', to: '2026-03-04T02' },
        ],
        partialHours: ['2026-03-01T22', '2026-03-04T02'],
      },
    ],
    [
      '2026-03-01T00:00:00Z',
      '2026-03-03T00:00:00Z',
      { days: { from: '2026-03-01', to: '2026-03-03' }, hours: [], partialHours: [] },
    ],
    [
      '2026-03-01T10:00:00Z',
      '2026-03-02T10:00:00Z',
      {
        days: empty('2026-03-02'),
        hours: [{ from: '2026-03-01T10', to: '2026-03-02T10' }],
        partialHours: [],
      },
    ],
    [
      '2026-03-01T10:05:00Z',
      '2026-03-01T10:06:00Z',
      { days: empty('2026-03-02'), hours: [], partialHours: ['2026-03-01T10'] },
    ],
  ];
  for (const [from, to, parts] of rows)
    t.same(
      divideUsageWindow({ from: new Date(from), to: new Date(to), groupBy: 'op' }),
      parts,
      `${from} to ${to}`,
    );
});
