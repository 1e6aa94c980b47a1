// needs: service, browser
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { bareEnvironment } from '../../support/whole-service.ts';

const DOCTOR = join(import.meta.dirname, '../../../src/host/doctor.ts');
const isRoot = process.getuid?.() === 0;
/** A user without a name and a home. */
const STRANGER = { uid: 54_321, gid: 54_321 };

/** What the doctor finds, by the name of the check. */
async function examine(environment: Record<string, string>, user = {}): Promise<Record<string, Finding[]>> {
  const env = bareEnvironment(environment);
  if (environment.HOME === '') delete env.HOME;
  const { stdout } = await promisify(execFile)(process.execPath, [DOCTOR, '--json'], { env, ...user }).catch(
    (error: { stdout: string }) => error,
  );
  const { examinations } = JSON.parse(stdout) as { examinations: { name: string; findings: Finding[] }[] };
  return Object.fromEntries(examinations.map(({ name, findings }) => [name, findings]));
}

interface Finding {
  state: string;
  message: string;
}

t.test(
  'a user without a home, or with one that it may not read, has fonts and a browser',
  { skip: !isRoot && 'only root can be another user' },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-stranger-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    chmodSync(folder, 0o777);
    const home = mkdtempSync(join(tmpdir(), 'darkroom-home-'));
    t.teardown(() => rmSync(home, { recursive: true, force: true }));
    for (const HOME of ['', home]) {
      const { host = [], browser = [] } = await examine({ DATA_DIR: folder, TMPDIR: folder, HOME }, STRANGER);
      t.ok(
        host.some(({ message }) => /There are \d+ font families/.test(message)),
        `HOME=${HOME}: ${JSON.stringify(host)}`,
      );
      t.ok(
        browser.some(({ message }) => /drew a page/.test(message)),
        `HOME=${HOME}: ${JSON.stringify(browser)}`,
      );
    }
  },
);
