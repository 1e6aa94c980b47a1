import type { Settings } from '../../../config/index.ts';
import { checkBrowser } from './browser.ts';
import { checkDelivery } from './delivery.ts';
import { checkDisk } from './disk.ts';
import { type Finding, orProblem } from './finding.ts';
import { judgeAllocator, judgeHost } from './host.ts';
import { readHostFacts } from './host-facts.ts';
import { checkMongo } from './mongodb.ts';
import { checkMail, checkPublicUrl, judgeOutbound } from './network.ts';
import { checkObjects } from './objects.ts';
import { checkPorts } from './ports.ts';
import { checkProviders } from './providers.ts';
import { checkHosts, checkRedis } from './redis.ts';
import { checkTelemetry } from './telemetry.ts';

export interface CheckResult {
  /** The examined part, such as `redis`. */
  name: string;
  findings: Finding[];
}

type Check = (settings: Settings, now: () => Date) => Promise<Finding[]>;

/** Every check, in the order of the report. */
const CHECKS: ReadonlyArray<readonly [name: string, check: Check]> = [
  ['host', async (settings) => judgeHost(await readHostFacts(), settings)],
  ['allocator', async (settings) => [judgeAllocator(settings)]],
  ['disk', checkDisk],
  ['delivery', checkDelivery],
  ['browser', checkBrowser],
  ['redis', checkRedis],
  ['hosts', checkHosts],
  ['mongodb', checkMongo],
  ['objects', checkObjects],
  ['ports', checkPorts],
  ['address', checkPublicUrl],
  ['outbound', async (settings) => judgeOutbound(settings, process.env)],
  ['mail', checkMail],
  ['providers', checkProviders],
  ['traces', () => checkTelemetry(process.env)],
];

/** Runs all checks of the host and its services at the same time. It changes nothing. */
export async function examine(
  settings: Settings,
  now: () => Date = () => new Date(),
): Promise<CheckResult[]> {
  return Promise.all(
    CHECKS.map(async ([name, check]) => ({
      name,
      findings: await orProblem(
        () => check(settings, now),
        (reason) => `It could not be examined: ${reason}.`,
        'Remove the cause, and run the doctor as the user that the service runs as.',
      ),
    })),
  );
}
