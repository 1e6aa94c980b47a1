import { Redis } from 'ioredis';
import type { Settings } from '../../../config/index.ts';
import { connectCoordination } from '../../platform/stores/open.ts';
import { askProcesses, type ControlAnswer } from '../processes/controls.ts';
import { judgeClock, judgeLatency, timesOf } from './answers.ts';
import { type Finding, ok, orProblem, problem, warning } from './finding.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** The first version with ZADD … LT, which the schedule of webhooks uses. */
const LEAST_VERSION = [6, 2] as const;

const REMEDY = 'Check REDIS_URL, its password, and that the network lets this host through.';

/** Redis: version, eviction, persistence, clock and latency. */
export async function checkRedis({ stores }: Settings, now: () => Date): Promise<Finding[]> {
  if (stores.REDIS_URL === '') return [ok('Coordination is embedded: there is no Redis to check.')];
  const client = new Redis(stores.REDIS_URL, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // The error of the socket: `connect` rejects only with "Connection is closed".
  let lastError: unknown;
  client.on('error', (error) => {
    lastError = error;
  });
  return orProblem(
    async () => {
      await client.connect().catch((error) => {
        throw lastError ?? error;
      });
      const facts = factsIn(await client.info());
      const [seconds, microseconds] = await client.time();
      return [
        judgeVersion(facts.get('redis_version') ?? ''),
        judgeEviction(facts.get('maxmemory') ?? '0', facts.get('maxmemory_policy') ?? 'noeviction'),
        judgePersistence(facts.get('aof_enabled') === '1'),
        judgeClock('Redis', Number(seconds) * 1_000 + Number(microseconds) / 1_000, now().getTime()),
        judgeLatency('Redis', await timesOf(() => client.ping())),
      ];
    },
    (reason) => `Redis does not answer: ${reason}.`,
    REMEDY,
  ).finally(() => client.disconnect());
}

/** Examines the clocks of all hosts with the same Redis, as measured by their processes. */
export async function checkHosts({ stores }: Settings): Promise<Finding[]> {
  if (stores.REDIS_URL === '') return [ok('The stores are embedded: there are no other hosts.')];
  return orProblem(
    async () => {
      const coordination = await connectCoordination(stores);
      try {
        return judgeHosts(await askProcesses(coordination, { kind: 'pools' }));
      } finally {
        await coordination.close();
      }
    },
    (reason) => `The hosts could not be asked: ${reason}.`,
    REMEDY,
  );
}

/** One finding per host, from its process with the largest difference. */
function judgeHosts(answers: readonly ControlAnswer[]): Finding[] {
  const byHost = Map.groupBy(answers, ({ hostId }) => hostId);
  const findings = Array.from(byHost).flatMap(([hostId, processes]) => {
    const measured = processes.flatMap(({ data }) =>
      typeof data?.clockDifferenceMs === 'number' ? [Math.abs(data.clockDifferenceMs)] : [],
    );
    return measured.length === 0 ? [] : [judgeClock('Redis', Math.max(...measured), 0, `host ${hostId}`)];
  });
  return findings.length > 0 ? findings : [ok('No process of the service runs on this Redis.')];
}

export function judgeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor >= LEAST_VERSION[1]);
  return isEnough
    ? ok(`Redis is ${version}.`)
    : problem(`Redis is ${version}, and ${LEAST_VERSION.join('.')} is needed.`, 'Install a newer one.');
}

function judgeEviction(maxMemory: string, policy: string): Finding {
  const message = `Redis evicts by ${policy}${maxMemory === '0' ? '' : ` above ${maxMemory} bytes`}.`;
  const remedy =
    'Set maxmemory-policy to noeviction: an evicted key is a slot given twice or a call run twice.';
  return policy === 'noeviction' ? ok(message) : problem(message, remedy);
}

function judgePersistence(hasAppendOnlyFile: boolean): Finding {
  if (hasAppendOnlyFile) return ok('Redis keeps an append-only file.');
  const message = 'Redis keeps no append-only file: a restart of it forgets Idempotency-Keys.';
  return warning(message, 'Set appendonly to yes.');
}

/** `name:value` lines of INFO. */
function factsIn(info: string): Map<string, string> {
  const lines = info.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}
