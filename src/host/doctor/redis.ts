import type { Redis } from 'ioredis';
import type { Settings } from '../../../config/index.ts';
import type { LinkSigner } from '../../platform/http/signatures.ts';
import {
  findRedisFault,
  REDIS_CONNECTION_REMEDY,
  withRedisClient,
} from '../../platform/stores/coordination/redis-connection.ts';
import { connectRedisCoordination } from '../../platform/stores/open.ts';
import { askProcesses, type ControlAnswer } from '../processes/controls.ts';
import { deploymentFingerprint, SEPARATION_ADVICE } from '../processes/deployment.ts';
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
import { readLinkSigner } from './identity.ts';

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

/** Checks the hosts with the same Redis and prefix: whether all have the same documents, and their clocks. */
export async function checkHosts({ stores }: Settings): Promise<DoctorFinding[]> {
  if (stores.REDIS_URL === '') return [okFinding('The stores are embedded: there are no other hosts.')];
  return findingsOrProblem(
    async () => {
      const coordination = await connectRedisCoordination(stores);
      try {
        const answers = await askProcesses(coordination, { kind: 'pools' });
        // If the documents cannot be read, the comparison is skipped, and another check reports the failure.
        const signatures = answers.length === 0 ? null : await readLinkSigner(stores).catch(() => null);
        return [...deploymentFindings(answers, stores, signatures), ...hostClockFindings(answers)];
      } finally {
        await coordination.close();
      }
    },
    (reason) => `The hosts could not be asked: ${reason}.`,
    REDIS_CONNECTION_REMEDY,
  );
}

/**
 * The findings about processes that use other documents than the settings name.
 * @param signatures the signing key of our own documents; null before the first start.
 */
function deploymentFindings(
  answers: readonly ControlAnswer[],
  stores: Settings['stores'],
  signatures: LinkSigner | null,
): DoctorFinding[] {
  const own = signatures === null ? [] : [deploymentFingerprint(signatures, stores)];
  const marks = answers.flatMap(({ data }) =>
    typeof data?.deployment === 'string' && data.deployment !== '' ? [data.deployment] : [],
  );
  const deployments = new Set([...own, ...marks]).size;
  if (marks.length === 0 || deployments === 1) return [];
  const message = `${deployments} deployments with different documents use this Redis with the prefix ${stores.REDIS_PREFIX}.`;
  return [problemFinding(message, SEPARATION_ADVICE)];
}

/** The findings about the clocks of the hosts. Each host is represented by its process with the largest difference. */
function hostClockFindings(answers: readonly ControlAnswer[]): DoctorFinding[] {
  const byHost = Map.groupBy(answers, ({ hostId }) => hostId);
  const findings = Array.from(byHost).flatMap(([hostId, processes]) => {
    const measured = processes.flatMap(({ data }) =>
      typeof data?.clockDifferenceMs === 'number' ? [Math.abs(data.clockDifferenceMs)] : [],
    );
    return measured.length === 0 ? [] : [clockFinding('Redis', Math.max(...measured), 0, `host ${hostId}`)];
  });
  return findings.length > 0 ? findings : [okFinding('No process of the service runs on this Redis.')];
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
