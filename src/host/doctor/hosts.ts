import type { Settings } from '../../../config/index.ts';
import type { LinkSigner } from '../../platform/http/signatures.ts';
import { REDIS_CONNECTION_REMEDY } from '../../platform/stores/coordination/redis-connection.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import { connectRedisCoordination, openObjectStore } from '../../platform/stores/open.ts';
import { DELIVERED_KEY_PREFIX } from '../../product/delivery/cache.ts';
import { askProcesses, type ControlAnswer } from '../processes/controls.ts';
import {
  type DeploymentReport,
  deploymentFingerprint,
  deploymentSettingFingerprints,
  hasObject,
  SEPARATION_ADVICE,
} from '../processes/deployment.ts';
import {
  clockFinding,
  type DoctorFinding,
  findingsOrProblem,
  okFinding,
  problemFinding,
  warningFinding,
} from './finding.ts';
import { readLinkSigner } from './identity.ts';

/**
 * Checks the hosts with the same Redis and prefix: whether all have the same documents, settings and objects, and their
 * clocks.
 */
export async function checkHosts(settings: Settings): Promise<DoctorFinding[]> {
  const { stores } = settings;
  if (stores.REDIS_URL === '') return [okFinding('The stores are embedded: there are no other hosts.')];
  return findingsOrProblem(
    async () => {
      await using opened = new AsyncDisposableStack();
      const coordination = opened.adopt(await connectRedisCoordination(stores), (redis) => redis.close());
      const objects = opened.adopt(await openObjectStore(stores), (store) => store.close());
      const processes = await askProcesses(coordination, { kind: 'pools' });
      // If the documents cannot be read, the comparisons are skipped, and another check reports the failure.
      const signatures = processes.length === 0 ? null : await readLinkSigner(stores).catch(() => null);
      const deployments = deploymentFindings(processes, stores, signatures);
      const clocks = hostClockFindings(processes);
      if (deployments.length > 0 || signatures === null) return [...deployments, ...clocks];
      // The same holds for the objects.
      const object = await findStoredObject(objects).catch(() => null);
      const primaries = await askProcesses(coordination, { kind: 'settings', object });
      const isDeleted = !(await hasObject(objects, object).catch(() => null));
      const expected = {
        fingerprints: deploymentSettingFingerprints(signatures, settings),
        hasObject: isDeleted ? null : true,
      };
      return [...primaries.flatMap((primary) => settingMismatchFindings(primary, expected)), ...clocks];
    },
    (reason) => `The hosts could not be asked: ${reason}.`,
    REDIS_CONNECTION_REMEDY,
  );
}

/** The listed objects among which the doctor looks for one that it asks the hosts for. */
const MAX_LISTED_OBJECTS = 1_000;

/** The key of any object that is not a delivered picture, which may be evicted at any time; null if there is none. */
async function findStoredObject(objects: ObjectStore): Promise<string | null> {
  const keys = await objects.listOlder('', Date.now(), MAX_LISTED_OBJECTS);
  return keys.find((key) => !key.startsWith(DELIVERED_KEY_PREFIX)) ?? null;
}

/**
 * The findings about a host whose settings, or objects, are not those of the doctor.
 * @param expected what the host reports if they are; an object that was deleted meanwhile is not expected.
 */
export function settingMismatchFindings(
  { hostId, data, error }: ControlAnswer,
  expected: DeploymentReport,
): DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  const objectsRemedy =
    'Give all hosts the same S3_BUCKET, S3_ENDPOINT and key, or one folder DATA_DIR/objects that they share: otherwise each host lacks what others stored.';
  if (error !== undefined)
    return [
      problemFinding(`Host ${hostId} cannot read its objects: ${error.replace(/\.$/, '')}.`, objectsRemedy),
    ];
  // An API process, and a primary of an earlier version, report nothing.
  if (data?.fingerprints === undefined) return [];
  const report = data as unknown as DeploymentReport;
  if (expected.hasObject === true && report.hasObject === false)
    findings.push(problemFinding(`Host ${hostId} has other objects than this one.`, objectsRemedy));
  const different = Object.entries(report.fingerprints)
    .filter(([name, fingerprint]) => expected.fingerprints[name] !== fingerprint)
    .map(([name]) => name);
  if (different.length > 0)
    findings.push(
      warningFinding(
        `Host ${hostId} runs with other values of ${different.join(', ')} than the doctor was given.`,
        'Give all hosts of a deployment the same values, and restart those that have others: otherwise the answer to a call depends on the host that it reaches.',
      ),
    );
  return findings;
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
