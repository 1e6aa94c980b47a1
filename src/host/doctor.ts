import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { envFile } from '../../config/env-file.ts';
import { loadSettingsFile, misspeltSettings, readSettings, type Settings } from '../../config/index.ts';
import { SettingsError } from '../platform/setting.ts';
import { checkBrowser } from './doctor/browser.ts';
import {
  type DoctorFinding,
  findingsOrProblem,
  okFinding,
  problemFinding,
  warningFinding,
} from './doctor/finding.ts';
import { allocatorFinding, hostFindings, readHostFacts } from './doctor/host.ts';
import { checkHosts } from './doctor/hosts.ts';
import { checkMongo } from './doctor/mongodb.ts';
import {
  checkMail,
  checkPorts,
  checkProviders,
  checkPublicUrl,
  checkTelemetry,
  outboundNetworkFindings,
} from './doctor/network.ts';
import { checkRedis } from './doctor/redis.ts';
import { checkDeliveryCache, checkDisk, checkObjectStore } from './doctor/storage.ts';
import { ensureHome } from './processes/home.ts';
import { endOnHelp } from './processes/terminal.ts';

/**
 * `npm run doctor [-- --json]`: examines this host, the settings and the services that they name, and reports problems
 * with their remedies. It changes nothing. It exits with code 1 when there is a problem.
 */
const DOCTOR_USAGE = `npm run doctor [-- --json]

Examines this host, the settings and the services that they name, and names each problem and its remedy. It changes nothing.
Exits 1 when there is a problem. With --json it prints {isWell, examinations}.
`;
const STATE_LABELS = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const;

async function examineThisHost(): Promise<HostCheckResult[]> {
  try {
    const warnings = loadSettingsFile();
    const settings = readSettings(process.env);
    return [{ name: 'settings', findings: settingsFileFindings(warnings) }, ...(await examineHost(settings))];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const remedy = 'Correct the setting: config/settings.md lists them all.';
    return [
      { name: 'settings', findings: error.violations.map((violation) => problemFinding(violation, remedy)) },
    ];
  }
}

/**
 * The findings about the settings file and about misspelt settings.
 * @param warnings the warnings about the settings file.
 */
function settingsFileFindings(warnings: readonly string[]): DoctorFinding[] {
  const path = resolve(envFile());
  const read = okFinding(`Settings are read from ${path}, and from the environment, which wins.`);
  const none = okFinding(
    `There is no ${path}: settings are read from the environment alone (ENV_FILE names another file).`,
  );
  const isFileNamed = Boolean(process.env.ENV_FILE);
  return [
    ...(existsSync(path) ? [read] : isFileNamed ? [] : [none]),
    ...warnings.map((message) => warningFinding(message, 'Correct the file, or ENV_FILE, which names it.')),
    ...misspeltSettings(process.env).map((message) =>
      warningFinding(message, 'Correct the name, or ignore this if the variable belongs to another program.'),
    ),
  ];
}

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
async function examineHost(settings: Settings): Promise<HostCheckResult[]> {
  const now = () => new Date();
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

function formatReport(examinations: readonly HostCheckResult[]): string {
  return examinations
    .flatMap(({ name, findings }) =>
      findings.map(({ state, message, remedy }) => {
        const line = `${STATE_LABELS[state]}  ${name.padEnd(10)}${message}`;
        return remedy === null ? line : `${line}\n${' '.repeat(19)}→ ${remedy}`;
      }),
    )
    .join('\n');
}

endOnHelp(process.argv.slice(2), DOCTOR_USAGE, ['--json']);
ensureHome();
const examinations = await examineThisHost();
const isWell = examinations.every(({ findings }) => findings.every(({ state }) => state !== 'problem'));
const wantsJson = process.argv.includes('--json');
process.stdout.write(
  `${wantsJson ? JSON.stringify({ isWell, examinations }) : formatReport(examinations)}\n`,
);
process.exit(isWell ? 0 : 1);
