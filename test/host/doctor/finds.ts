import type { Test } from 'tap';
import type { DoctorFinding } from '../../../src/host/doctor/finding.ts';

/** Fails unless exactly this is wrong, with its remedy. */
export function finds(
  t: Test,
  findings: readonly DoctorFinding[],
  state: DoctorFinding['state'],
  message: RegExp,
  remedy: RegExp,
): void {
  const wrong = findings.filter((finding) => finding.state !== 'ok');
  t.match(wrong, [{ state, message, remedy }]);
  t.equal(wrong.length, 1);
}
