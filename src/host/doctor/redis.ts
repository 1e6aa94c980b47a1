import type { Redis } from 'ioredis';
import type { Settings } from '../../../config/index.ts';
import {
  findRedisFault,
  REDIS_CONNECTION_REMEDY,
  withRedisClient,
} from '../../platform/stores/coordination/redis-connection.ts';
import {
  clockFinding,
  type DoctorFinding,
  findingsOrProblem,
  latencyFinding,
  measureDurationsMs,
  okFinding,
  problemFinding,
  warningFinding,
} from './finding.ts';

/** The connections of a process: one for commands, and one for messages. */
const CONNECTIONS_PER_PROCESS = 2;
/**
 * The connections that Redis should allow at least. They are enough for a few hosts while their processes are replaced.
 */
const RECOMMENDED_CONNECTIONS = 128;
/** The first version with ZADD … LT, which the schedule of webhooks uses. */
const MIN_REDIS_VERSION = [6, 2] as const;

/** Checks Redis: version, eviction, persistence, clock and latency. */
export async function checkRedis({ stores, processes }: Settings, now: () => Date): Promise<DoctorFinding[]> {
  if (stores.REDIS_URL === '') return [okFinding('Coordination is embedded: there is no Redis to check.')];
  return findingsOrProblem(
    () => withRedisClient(stores.REDIS_URL, (client) => redisFindings(client, processes.PROCESSES, now)),
    (reason) => `Redis does not answer: ${reason}.`,
    REDIS_CONNECTION_REMEDY,
  );
}

async function redisFindings(client: Redis, processes: number, now: () => Date): Promise<DoctorFinding[]> {
  const fault = await findRedisFault(client);
  const facts = infoFieldsOf(await client.info());
  const [seconds, microseconds] = await client.time();
  return [
    ...(fault === null ? [] : [problemFinding(fault.message, fault.remedy)]),
    redisVersionFinding(facts.get('redis_version') ?? ''),
    redisConnectionsFinding(facts.has('maxclients') ? Number(facts.get('maxclients')) : null, processes),
    evictionFinding(facts.get('maxmemory') ?? '0', facts.get('maxmemory_policy') ?? 'noeviction'),
    appendOnlyFileFinding(facts.get('aof_enabled') === '1'),
    clockFinding('Redis', Number(seconds) * 1_000 + Number(microseconds) / 1_000, now().getTime()),
    latencyFinding('Redis', await measureDurationsMs(() => client.ping())),
  ];
}

export function redisVersionFinding(version: string): DoctorFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough =
    major > MIN_REDIS_VERSION[0] || (major === MIN_REDIS_VERSION[0] && minor >= MIN_REDIS_VERSION[1]);
  return isNewEnough
    ? okFinding(`Redis is ${version}.`)
    : problemFinding(
        `Redis is ${version}, and ${MIN_REDIS_VERSION.join('.')} is needed.`,
        'Install a newer one.',
      );
}

/**
 * The finding about the connection limit of Redis.
 * @param maxClients the limit of the server; null if the server does not report it.
 */
export function redisConnectionsFinding(maxClients: number | null, processes: number): DoctorFinding {
  const neededConnections = CONNECTIONS_PER_PROCESS * (processes + 1);
  const message = `Redis takes ${maxClients ?? 'an unknown number of'} connections, and this host needs ${neededConnections}.`;
  if (maxClients === null || maxClients >= RECOMMENDED_CONNECTIONS) return okFinding(message);
  const remedy = 'Raise maxclients of Redis (its default is 10000): connections beyond it are refused.';
  return maxClients < 2 * neededConnections
    ? problemFinding(message, remedy)
    : warningFinding(message, remedy);
}

function evictionFinding(maxMemory: string, policy: string): DoctorFinding {
  const message = `Redis evicts by ${policy}${maxMemory === '0' ? '' : ` above ${maxMemory} bytes`}.`;
  const remedy =
    'Set maxmemory-policy to noeviction: an evicted key is a slot given twice or a call run twice.';
  return policy === 'noeviction' ? okFinding(message) : problemFinding(message, remedy);
}

function appendOnlyFileFinding(hasAppendOnlyFile: boolean): DoctorFinding {
  if (hasAppendOnlyFile) return okFinding('Redis keeps an append-only file.');
  const message = 'Redis keeps no append-only file: a restart of it forgets Idempotency-Keys.';
  return warningFinding(message, 'Set appendonly to yes.');
}

/** Parses the `name:value` lines of the answer to INFO. */
function infoFieldsOf(info: string): Map<string, string> {
  const lines = info.split(/\r?\n/).filter((line) => line.includes(':'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}
