import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Answer } from '../support/harness.ts';

/** The program. */
export const MAIN = join(import.meta.dirname, '../../src/client/cli/main.ts');
const MAX_RUN_MS = 600_000;

/** What the command line said. */
export interface Ran {
  code: number;
  stdout: Buffer;
  /** The objects of stdout, one per line. */
  rows: Answer['json'][];
  stderr: string;
}

/** Runs `darkroom` with arguments in a folder. @param stdin what is piped to it. */
export function runner(cwd: string, environment: Record<string, string>) {
  return async (args: readonly string[], stdin?: Uint8Array | string): Promise<Ran> => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: { ...process.env, DARKROOM_CONFIG: join(cwd, 'config.json'), ...environment },
      timeout: MAX_RUN_MS,
    });
    child.stdin.end(stdin);
    const [out, err, code] = await Promise.all([
      child.stdout.toArray(),
      child.stderr.toArray(),
      new Promise<number>((resolve) => child.once('close', (exit) => resolve(exit ?? -1))),
    ]);
    const stdout = Buffer.concat(out);
    return { code, stdout, rows: rowsIn(stdout), stderr: Buffer.concat(err).toString() };
  };
}

function rowsIn(stdout: Buffer): unknown[] {
  try {
    const lines = stdout.toString().split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}
