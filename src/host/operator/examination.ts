import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { SETTING_NAMES } from '../../../config/index.ts';
import type { HostCheckResult } from '../doctor.ts';
import type { DoctorFindings } from './schema.ts';

const DOCTOR_FILE = new URL('../doctor.ts', import.meta.url).pathname;
const DOCTOR_TIMEOUT_MS = 90_000;
/** A request for a new examination within this time gets the previous one. */
const MIN_EXAMINATION_AGE_MS = 10_000;
/** The examination runs at a lower priority than the processes that serve calls. */
const DOCTOR_NICENESS = 10;

/**
 * The doctor's findings on this host. The doctor runs in a separate process, because it draws a page and reads the
 * whole database, which would delay calls.
 */
export class DoctorExamination {
  #last: DoctorFindings | undefined;
  #running: Promise<DoctorFindings> | undefined;

  /**
   * The last examination, or a new one if there is none yet.
   * @param isFresh requests a new examination, unless the last one was just made.
   * @throws Error when the doctor cannot run.
   */
  async read(isFresh: boolean): Promise<DoctorFindings> {
    const last = this.#last;
    const ageMs = last === undefined ? Number.POSITIVE_INFINITY : Date.now() - Date.parse(last.at);
    if (last !== undefined && (!isFresh || ageMs < MIN_EXAMINATION_AGE_MS)) return last;
    this.#running ??= this.#examine().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #examine(): Promise<DoctorFindings> {
    const { isWell, examinations } = await runDoctor();
    const findings = examinations.flatMap(({ name, findings }) =>
      findings.map((finding) => ({ part: name, ...finding, settings: settingsIn(finding.remedy ?? '') })),
    );
    this.#last = { at: new Date().toISOString(), isWell, findings };
    return this.#last;
  }
}

/** The report of `npm run doctor -- --json`. */
async function runDoctor(): Promise<{ isWell: boolean; examinations: HostCheckResult[] }> {
  const doctor = spawn(process.execPath, [DOCTOR_FILE, '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: DOCTOR_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<void>((resolve, reject) => {
    doctor.once('error', reject);
    doctor.once('close', () => resolve());
  });
  if (doctor.pid !== undefined) setPriority(doctor.pid, DOCTOR_NICENESS);
  const [report] = await Promise.all([text(doctor.stdout), ended]);
  if (report === '') throw new Error(`The doctor did not end within ${DOCTOR_TIMEOUT_MS / 1_000} s.`);
  return JSON.parse(report);
}

/** The settings that a sentence names. */
function settingsIn(sentence: string): string[] {
  return [...new Set(sentence.match(/\b[A-Z][A-Z0-9_]+\b/g))].filter((name) => SETTING_NAMES.includes(name));
}
