import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { envFile } from '../../config/env-file.ts';
import { loadSettingsFile, misspeltSettings, readSettings, SettingsError } from '../../config/index.ts';
import { type CheckResult, examine } from './doctor/examine.ts';
import { type Finding, ok, problem, warning } from './doctor/finding.ts';
import { endOnHelp } from './processes/arguments.ts';

/**
 * `npm run doctor [-- --json]`: examines this host, the settings and the services that they name, and reports problems
 * with their remedies. It changes nothing. It exits with code 1 when there is a problem.
 */
const USAGE = `npm run doctor [-- --json]

Examines this host, the settings and the services that they name, and says what is wrong and how to mend it. It changes nothing.
Exits 1 when there is a problem. With --json it prints {isWell, examinations}.
`;
const SIGNS = { ok: 'ok     ', warning: 'warning', problem: 'PROBLEM' } as const;

async function examined(): Promise<CheckResult[]> {
  try {
    loadSettingsFile();
    const settings = readSettings(process.env);
    return [{ of: 'settings', findings: judgeNames() }, ...(await examine(settings))];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const mend = 'Mend the setting: config/settings.md lists them all.';
    return [{ of: 'settings', findings: error.violations.map((violation) => problem(violation, mend)) }];
  }
}

/** The finding about the settings file that was read, and about misspelt settings. */
function judgeNames(): Finding[] {
  const path = resolve(envFile());
  const file = existsSync(path)
    ? ok(`Settings are read from ${path}, and from the environment, which wins.`)
    : ok(`There is no ${path}: settings are read from the environment alone (ENV_FILE names another file).`);
  const misspelt = misspeltSettings(process.env).map((says) =>
    warning(says, 'Correct the name, or ignore this where the variable belongs to another program.'),
  );
  return [file, ...misspelt];
}

function report(examinations: readonly CheckResult[]): string {
  return examinations
    .flatMap(({ of, findings }) =>
      findings.map(({ state, says, mend }) => {
        const line = `${SIGNS[state]}  ${of.padEnd(10)}${says}`;
        return mend === null ? line : `${line}\n${' '.repeat(19)}→ ${mend}`;
      }),
    )
    .join('\n');
}

endOnHelp(process.argv.slice(2), USAGE, ['--json']);
const examinations = await examined();
const isWell = examinations.every(({ findings }) => findings.every(({ state }) => state !== 'problem'));
const isJson = process.argv.includes('--json');
process.stdout.write(`${isJson ? JSON.stringify({ isWell, examinations }) : report(examinations)}\n`);
process.exit(isWell ? 0 : 1);
