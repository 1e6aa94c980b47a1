// needs: service
import sharp from 'sharp';
import t from 'tap';
import { askPrimary } from '../../../src/host/admin/socket.ts';
import { type LoadRow, loadRowsBetween } from '../../../src/host/admin/top.ts';
import { slowResponseVerdict } from '../../../src/host/admin/verdicts.ts';
import { OPERATOR } from '../../support/operator.ts';
import { startWholeService } from '../../support/whole-service.ts';

const MEGABYTE = 1_048_576;
const REQUESTS = 'darkroom_request_duration_seconds';

/** A process whose counters went from some value to that and more within two seconds. */
function observed(hostId: string, processId: string, counted: Record<string, number>) {
  const before = Object.fromEntries(Object.keys(counted).map((key) => [key, 5]));
  const after = Object.fromEntries(Object.entries(counted).map(([key, value]) => [key, value + 5]));
  return {
    ...{ hostId, processId },
    before: { atMs: 1_000, values: before },
    after: {
      atMs: 3_000,
      values: { ...after, darkroom_pool_queued: 3, process_resident_memory_bytes: MEGABYTE },
    },
  };
}

const BUSY = {
  [`${REQUESTS}_count`]: 100,
  [`${REQUESTS}_bucket 0.1`]: 50,
  [`${REQUESTS}_bucket 0.5`]: 98,
  [`${REQUESTS}_bucket 1`]: 100,
  [`${REQUESTS}_bucket +Inf`]: 100,
  'darkroom_pool_wait_seconds_sum call': 20,
  'darkroom_op_part_seconds_total call fetch': 1,
  'darkroom_op_part_seconds_total call decode': 1,
  'darkroom_op_part_seconds_total call process': 8,
  'darkroom_op_part_seconds_total call encode': 1,
  // Items of jobs, and the calls to models that they make, are in no answer.
  'darkroom_op_part_seconds_total job process': 80,
  darkroom_provider_call_seconds_sum: 90,
  darkroom_provider_call_seconds_count: 10,
  darkroom_request_store_seconds_total: 0.5,
  'darkroom_refusals_total provider_unavailable capacity': 10,
  'darkroom_refusals_total not_found': 2,
  'darkroom_delivery_pictures_total memory': 40,
  'darkroom_delivery_pictures_total made': 2,
};

t.test('two snapshots make a row for each process, each host and all', async (t) => {
  const rows = loadRowsBetween([
    observed('a', '1', BUSY),
    observed('a', '2', { ...BUSY, [`${REQUESTS}_bucket 0.1`]: 100, [`${REQUESTS}_bucket 0.5`]: 100 }),
    observed('b', '1', {}),
  ]);
  t.same(
    rows.map(({ name }) => name),
    ['a/1', 'a/2', 'a', 'b/1', 'b', 'all hosts'],
  );
  const [one, two, host, idle, , all] = rows;
  t.match(one, {
    ...{ requestsPerSecond: 50, p50: 100, p99: 750, waiting: 3, memoryBytes: MEGABYTE },
    ...{ waitMs: 200, uploadMs: 10, pixelsMs: 100, storeMs: 5, providerMs: 9_000 },
    refusals: { capacity: 5, not_found: 1 },
    delivered: { memory: 20, made: 1 },
  });
  t.match(two, { p50: 50, p99: 99 });
  t.match(host, { requestsPerSecond: 100, waiting: 6, memoryBytes: 2 * MEGABYTE, waitMs: 200 });
  t.match(idle, { requestsPerSecond: 0, p50: null, p99: null, waitMs: 0, refusals: {} });
  t.match(all, { requestsPerSecond: 100, p99: host?.p99 });
});

t.test('the likeliest cause is the largest part, or the quota', async (t) => {
  const [row] = loadRowsBetween([observed('a', '1', BUSY)]);
  const cause = (changed: Partial<LoadRow>) =>
    slowResponseVerdict({ ...(row as LoadRow), ...changed }).sentence;
  t.match(cause({}), /the wait for a thread, 200 ms/);
  t.match(cause({ pixelsMs: 900 }), /work on pixels, 900 ms/);
  t.match(cause({ uploadMs: 900 }), /uploads and fetched urls/);
  t.match(cause({ storeMs: 900 }), /the stores/);
  t.match(cause({ pixelsMs: 900, throttled: 0.4 }), /CPU quota, .* 40 %/);
  t.match(cause({ pixelsMs: 900, stolen: 0.3 }), /stolen CPU: the hypervisor .* 30 %/);
  t.match(cause({ pixelsMs: 900, pressure: 0.4, cpu: 0.5 }), /other programs .* 40 % .* 50 % of its cores/);
  t.match(cause({ pixelsMs: 900, pressure: 0.4, cpu: 0.95 }), /work on pixels/, 'its own tasks wait');
  t.match(cause({ p99: 50, storeMs: 40, throttled: 0.4 }), /^Nothing is slow: p99 is 50 ms/);
  t.match(cause({ p99: null }), /Nothing was answered/);
});

t.test('what the kernel tells of a host is a share of the time, and the mean of several hosts', async (t) => {
  const ofPrimary = {
    darkroom_cpu_throttled_seconds_total: 1,
    darkroom_cpu_stolen_seconds_total: 0.5,
    darkroom_memory_kills_total: 3,
    darkroom_cpu_pressure_seconds_total: 0.25,
    darkroom_process_cpu_seconds_total: 2,
  };
  const primary = (hostId: string, counted: Record<string, number>) => {
    const one = observed(hostId, 'primary', counted);
    return { ...one, after: { ...one.after, values: { ...one.after.values, darkroom_cpu_cores: 2 } } };
  };
  const rows = loadRowsBetween([
    observed('a', '1', BUSY),
    primary('a', ofPrimary),
    observed('b', '1', BUSY),
    primary('b', {}),
  ]);
  t.match(rows[1], { name: 'a', throttled: 0.5, stolen: 0.25, pressure: 0.125, cpu: 0.5, memoryKills: 3 });
  t.match(rows.at(-1), { name: 'all hosts', throttled: 0.25, stolen: 0.125, cpu: 0.25 });
});

t.test('an operator sees the load of a running service', async (t) => {
  const service = await startWholeService(t, { PROCESSES: '1' });
  const body = new Uint8Array(
    await sharp({ create: { width: 900, height: 900, channels: 3, background: '#37c' } })
      .jpeg()
      .toBuffer(),
  );
  const headers = { authorization: `ApiKey ${service.key}`, 'content-type': 'image/jpeg' };
  let isOver = false;
  let answered = 0;
  const load = (async () => {
    while (!isOver) {
      const path = answered % 2 === 0 ? 'op=negate' : 'op=none';
      const response = await fetch(`${service.url}/api/v1/images/transform?${path}`, {
        ...{ method: 'POST', headers, body },
      });
      await response.arrayBuffer();
      answered += 1;
    }
  })();
  const shown = await askPrimary(service.directory, ['top', '--seconds', '4'], OPERATOR);
  isOver = true;
  await load;
  if (shown === null) throw new Error('The primary does not answer.');
  const { rows, cause } = shown.data as unknown as { rows: LoadRow[]; cause: string };
  t.equal(rows.length, 2, 'the process and its host');
  const [row, host] = rows;
  t.ok((row?.requestsPerSecond ?? 0) > 0 && (row?.p99 ?? 0) >= (row?.p50 ?? 0) && (row?.p50 ?? 0) > 0);
  t.ok((row?.pixelsMs ?? 0) > 0 && (row?.storeMs ?? 0) > 0 && (row?.connections ?? 0) > 0);
  t.ok((row?.refusals.invalid_param ?? 0) > 0, 'an unknown op is refused');
  t.ok((host?.memoryBytes ?? 0) > (row?.memoryBytes ?? 0), 'a host has its primary as well');
  t.match(cause, /p99/);
  t.match(shown.text, /process +req\/s +p50 ms +p99 ms/);
  await t.rejects(askPrimary(service.directory, ['top', '--seconds', '0'], OPERATOR), { message: /1 to 60/ });
});
