import type { Settings } from '../../../config/index.ts';
import { lookAtBrowser } from './browser.ts';
import { lookAtDisk } from './disk.ts';
import { type Finding, orProblem } from './finding.ts';
import { judgeAllocator, judgeHost } from './host.ts';
import { readHostFacts } from './host-facts.ts';
import { lookAtMongo } from './mongodb.ts';
import { judgeOutbound, lookAtAddress, lookAtMail } from './network.ts';
import { lookAtObjects } from './objects.ts';
import { lookAtProviders } from './providers.ts';
import { lookAtHosts, lookAtRedis } from './redis.ts';

export interface CheckResult {
  /** The examined part, such as `redis`. */
  of: string;
  findings: Finding[];
}

type Check = (settings: Settings, now: () => Date) => Promise<Finding[]>;

/** Every check, in the order of the report. */
const CHECKS: ReadonlyArray<readonly [of: string, check: Check]> = [
  ['host', async (settings) => judgeHost(await readHostFacts(), settings)],
  ['allocator', async (settings) => [judgeAllocator(settings)]],
  ['disk', lookAtDisk],
  ['browser', lookAtBrowser],
  ['redis', lookAtRedis],
  ['hosts', lookAtHosts],
  ['mongodb', lookAtMongo],
  ['objects', lookAtObjects],
  ['address', lookAtAddress],
  ['outbound', async (settings) => judgeOutbound(settings, process.env)],
  ['mail', lookAtMail],
  ['providers', lookAtProviders],
];

/** Checks the host and its services side by side, and changes nothing. */
export async function examine(
  settings: Settings,
  now: () => Date = () => new Date(),
): Promise<CheckResult[]> {
  return Promise.all(
    CHECKS.map(async ([of, check]) => ({
      of,
      findings: await orProblem(
        () => check(settings, now),
        (reason) => `It could not be looked at: ${reason}.`,
        'Mend what the reason names, and run the doctor as the user that the service runs as.',
      ),
    })),
  );
}
