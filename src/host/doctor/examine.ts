import type { Settings } from '../../../config/index.ts';
import { checkBrowser } from './browser.ts';
import { type DoctorFinding, findingsOrProblem } from './finding.ts';
import { allocatorFinding, hostFindings, readHostFacts } from './host.ts';
import { checkHosts } from './hosts.ts';
import { checkMongo } from './mongodb.ts';
import {
  checkMail,
  checkPorts,
  checkProviders,
  checkPublicUrl,
  checkTelemetry,
  outboundNetworkFindings,
} from './network.ts';
import { checkRedis } from './redis.ts';
import { checkDeliveryCache, checkDisk, checkObjectStore } from './storage.ts';

export interface HostCheckResult {
  /** The examined part, such as `redis`. */
  name: string;
  findings: DoctorFinding[];
}

type HostCheck = (settings: Settings, now: () => Date) => Promise<DoctorFinding[]>;

/** Every check, in the order of the report. */
const HOST_CHECKS: ReadonlyArray<readonly [name: string, check: HostCheck]> = [
  ['host', async (settings) => hostFindings(await readHostFacts(), settings)],
  ['allocator', async (settings) => [allocatorFinding(settings)]],
  ['disk', checkDisk],
  ['delivery', checkDeliveryCache],
  ['browser', checkBrowser],
  ['redis', checkRedis],
  ['hosts', checkHosts],
  ['mongodb', checkMongo],
  ['objects', checkObjectStore],
  ['ports', checkPorts],
  ['address', checkPublicUrl],
  ['outbound', async (settings) => outboundNetworkFindings(settings, process.env)],
  ['mail', checkMail],
  ['providers', checkProviders],
  ['traces', () => checkTelemetry(process.env)],
];

/** Runs all checks of the host and its services at the same time. They remove what they write. */
export async function examineHost(
  settings: Settings,
  now: () => Date = () => new Date(),
): Promise<HostCheckResult[]> {
  return Promise.all(
    HOST_CHECKS.map(async ([name, check]) => ({
      name,
      findings: await findingsOrProblem(
        () => check(settings, now),
        (reason) => `It could not be examined: ${reason}.`,
        'Remove the cause, and run the doctor as the user that the service runs as.',
      ),
    })),
  );
}
