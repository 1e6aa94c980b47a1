import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';

const FOLDER = join(import.meta.dirname, '../../../shared/cases');

/** Options for a test that reads shared cases: skipped loudly where they are absent, failed when CI=true. */
export function needsCases(t: Test): { skip: string | false } {
  if (existsSync(FOLDER)) return { skip: false };
  if (process.env.CI === 'true') t.fail('the shared cases are absent (../shared/cases)');
  return { skip: 'the shared cases are absent (../shared/cases)' };
}

/** Bytes of one case, in their own buffer. */
export function caseFile(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(FOLDER, name)));
}
