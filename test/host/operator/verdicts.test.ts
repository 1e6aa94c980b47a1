// needs: nothing
import t from 'tap';
import { slowResponseVerdict, verdictsOnAllHosts, verdictsOnHost } from '../../../src/host/admin/verdicts.ts';
import { rowWith } from './rows.ts';

const MEGABYTE = 1_048_576;

const likeliestSlownessCause = (row: ReturnType<typeof rowWith>) => slowResponseVerdict(row).sentence;

t.test('one image thread for two cores is named with the setting that fixes it', async (t) => {
  const busy = { p99: 2_400, waitMs: 900, pixelsMs: 200, imageThreads: 1, processes: 1 };
  const [verdict] = verdictsOnHost({ row: rowWith(busy) });
  t.match(verdict, {
    tone: 'warn',
    sentence: /the wait for a thread, 900 ms .* There is 1 image thread for 2 cores: set IMAGE_THREADS=2/,
    fix: { setting: 'IMAGE_THREADS', value: 2 },
  });
  const spread = { ...busy, imageThreads: 2, processes: 2, cores: 8 };
  t.match(verdictsOnHost({ row: rowWith(spread) })[0]?.fix, { value: 4 }, 'each of two processes');
  t.match(
    likeliestSlownessCause(rowWith({ ...busy, imageThreads: 2 })),
    /Add cores or hosts/,
    'as many threads as cores are no fault',
  );
  t.match(
    likeliestSlownessCause(rowWith({ ...busy, pressure: 0.5, cpu: 0.4 })),
    /1 image thread/,
    'a core that other programs take too is used by a second thread',
  );
  t.match(likeliestSlownessCause(rowWith({ ...busy, throttled: 0.5 })), /CPU quota/);
  t.match(likeliestSlownessCause(rowWith({ ...busy, waitMs: 10 })), /the work on pixels/);
});

t.test('memory that ran out is named', async (t) => {
  const sentenceFor = (memoryKills: number) => verdictsOnHost({ row: rowWith({ memoryKills }) })[0]?.sentence;
  t.match(
    sentenceFor(1),
    /^Memory ran out, and the kernel killed a process of the service\. Give it more memory/,
  );
  t.match(sentenceFor(3), /killed 3 processes/);
  t.notMatch(sentenceFor(0), /Memory/);
});

t.test('a slow store is named', async (t) => {
  const [verdict] = verdictsOnHost({ row: rowWith({ p99: 800, storeMs: 350 }) });
  t.match(verdict, { tone: 'warn', sentence: /the stores, 350 ms of the mean answer/ });
  t.equal(verdict?.fix, undefined, 'no setting makes a store quick');
  const flood = { p99: 800, storeMs: 350, backgroundStoreShare: 0.92, jobItems: 83 };
  t.match(verdictsOnHost({ row: rowWith(flood) })[0], {
    sentence: /Work in the background takes 92 % of their time, and 83 items .* in hand: set JOB_ITEMS=4\./,
    fix: { setting: 'JOB_ITEMS', value: 4 },
  });
  t.match(verdictsOnHost({ row: rowWith({ ...flood, jobItems: 3, webhookAttempts: 400 }) })[0], {
    sentence: /400 webhooks are on their way: set WEBHOOK_CONCURRENCY=40\./,
    fix: { setting: 'WEBHOOK_CONCURRENCY', value: 40 },
  });
  for (const [why, changed] of [
    ['calls themselves fill the store', { backgroundStoreShare: 0.4 }],
    ['little is in hand', { jobItems: 7 }],
  ] as const)
    t.equal(verdictsOnHost({ row: rowWith({ ...flood, ...changed }) })[0]?.fix, undefined, why);
  const beside = { p99: 950, storeMs: 80, pixelsMs: 6, waitMs: 3, pressure: 0.96, cpu: 0.09 };
  t.match(
    likeliestSlownessCause(rowWith(beside)),
    /the stores, 80 ms/,
    'other programs would make pixels slow too',
  );
  t.match(likeliestSlownessCause(rowWith({ ...beside, pixelsMs: 60 })), /other programs/);
  const [away] = verdictsOnHost({ row: rowWith({ refusals: { store_unavailable: 4.5 } }) });
  t.match(away, { tone: 'bad', sentence: /A store does not answer: 4\.5 calls\/s/ });
});

t.test('an account that floods is named with what it does, and one that is only busy is not', async (t) => {
  const refusals = { account_concurrency: 38, capacity: 0.2 };
  const accounts = [
    { id: 'acc_flood', calls: 40, refused: 37 },
    { id: 'acc_other', calls: 2, refused: 0 },
  ];
  const flooded = rowWith({ requestsPerSecond: 42, refusals, accounts });
  t.match(verdictsOnHost({ row: flooded })[0], {
    tone: 'warn',
    sentence:
      /acc_flood floods: it makes 40 of 42 calls\/s, and 37 of them .* account_concurrency.*suspend acc_flood/,
  });
  const busy = [{ id: 'acc_busy', calls: 40, refused: 3 }];
  t.match(verdictsOnHost({ row: rowWith({ accounts: busy }) })[0], { tone: 'good' });
  const idle = [{ id: 'acc_idle', calls: 0.4, refused: 0.4 }];
  t.match(verdictsOnHost({ row: rowWith({ accounts: idle }) })[0], { tone: 'good' });
});

t.test('a process that hangs is named before it is replaced, and for two minutes afterwards', async (t) => {
  const silent = [{ name: 'host-a/2', silentMs: 7_200, timeoutMs: 15_000 }];
  t.match(verdictsOnHost({ row: rowWith(), silent }), [
    { tone: 'bad', sentence: /host-a\/2 hangs: it has not answered for 7 s, and is replaced after 15 s/ },
  ]);
  t.match(verdictsOnHost({ row: rowWith(), silent: [{ ...silent[0], silentMs: 2_000 } as never] }), [
    { tone: 'good' },
  ]);
  const restart = { text: 'Process 2 hung and is replaced', agoMs: 30_000 };
  t.match(verdictsOnHost({ row: rowWith(), restart }), [
    { tone: 'warn', sentence: /^Process 2 hung .* 30 s ago/ },
  ]);
  t.match(verdictsOnHost({ row: rowWith(), restart: { ...restart, agoMs: 121_000 } }), [{ tone: 'good' }]);
});

t.test('a full disk is named, before what is slow', async (t) => {
  const disk = { freeBytes: 120 * MEGABYTE, reservedBytes: 256 * MEGABYTE };
  const [first, second] = verdictsOnHost({ row: rowWith({ disk, p99: 900, pixelsMs: 700 }) });
  t.match(first, { tone: 'bad', sentence: /DATA_DIR is full: 120 MB are free, and 256 MB are kept free/ });
  t.match(second, { sentence: /the work on pixels/ });
  t.match(
    verdictsOnHost({ row: rowWith({ disk: null }) }),
    [{ tone: 'good' }],
    'a disk that cannot be measured',
  );
});

t.test('several hosts are named, and one sentence is enough where all are well', async (t) => {
  const [a, b] = [rowWith(), rowWith({ name: 'host-b', p99: 900, storeMs: 600 })];
  const all = rowWith({ name: 'all hosts', scope: 'all hosts' });
  t.match(verdictsOnAllHosts([a, b, all]), [{ sentence: /^host-b: Likeliest cause .*the stores/ }]);
  t.match(verdictsOnAllHosts([a, { ...a, name: 'host-b' }, all]), [
    { tone: 'good', sentence: /Nothing is slow/ },
  ]);
  t.match(verdictsOnAllHosts([b]), [{ sentence: /^Likeliest/ }], 'one host needs no name');
  t.match(
    verdictsOnHost({ row: null }),
    [{ tone: 'good', sentence: /within 20 s/ }],
    'a service that has just started',
  );
});
