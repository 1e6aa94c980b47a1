import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { envFile } from '../../config/env-file.ts';
import { loadSettingsFile, misspeltSettings, readSettings, SettingsError } from '../../config/index.ts';
import { examineHost, type HostCheckResult } from './doctor/examine.ts';
import { type DoctorFinding, okFinding, problemFinding, warningFinding } from './doctor/finding.ts';
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
const examinations = await examineThisHost();
const isWell = examinations.every(({ findings }) => findings.every(({ state }) => state !== 'problem'));
const wantsJson = process.argv.includes('--json');
process.stdout.write(
  `${wantsJson ? JSON.stringify({ isWell, examinations }) : formatReport(examinations)}\n`,
);
process.exit(isWell ? 0 : 1);
