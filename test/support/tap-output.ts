/** Reads the output of tap: failures, skipped tests, durations and counts. */

const MAX_LINES_OF_A_FAILURE = 30;

export interface Counts {
  pass: number;
  fail: number;
  skip: number;
}

/** The lines of the failures, as tap wrote them: each with the diagnosis below it, cut where it is long. */
export function failuresIn(output: string): string[] {
  const lines = output.split('\n');
  return lines.flatMap((line, at) => {
    if (!/^ *not ok /.test(line)) return [];
    const end = lines.findIndex((later, index) => index > at && /^ *\.\.\.$/.test(later));
    return lines.slice(at, Math.min(end === -1 ? at : end, at + MAX_LINES_OF_A_FAILURE) + 1);
  });
}

/** The files with a failed test. */
export function failedFilesIn(output: string): string[] {
  return [...output.matchAll(/^not ok \d+ - (\S+\.test\.ts)/gm)].map(([, file = '']) => file);
}

/** Tests that were skipped, as `file: name (reason)`. */
export function skippedIn(output: string): string[] {
  const skipped: string[] = [];
  let pending: string[] = [];
  for (const line of output.split('\n')) {
    const [, name, reason] = /^ *ok \d+ - (.*?) # (?:SKIP|TODO) ?(.*)$/i.exec(line) ?? [];
    if (name !== undefined) pending.push(`${name}${reason === '' ? '' : ` (${reason})`}`);
    // The line of a file follows those of its tests.
    const [, file] = /^(?:not )?ok \d+ - (\S+\.test\.ts)/.exec(line) ?? [];
    if (file === undefined) continue;
    skipped.push(...pending.map((test) => `${file}: ${test}`));
    pending = [];
  }
  return skipped;
}

/** What a test file took. */
export interface FileTime {
  file: string;
  seconds: number;
}

/** How long each file took. */
export function durationsIn(output: string): FileTime[] {
  const lines = output.matchAll(/^(?:not )?ok \d+ - (\S+\.test\.ts.*?) # time=([\d.]+)ms/gm);
  return [...lines].map(([, file = '', ms]) => ({ file, seconds: Number(ms) / 1000 }));
}

/** The CPU that each file took, as the process of its files says it. */
export function cpuIn(output: string): FileTime[] {
  const lines = output.matchAll(/^# cpu: ([\d.]+) s, (\S.*)$/gm);
  return [...lines].map(([, seconds, file = '']) => ({ file, seconds: Number(seconds) }));
}

/** The files that took most, as `file 12.3 s`. */
export function longestOf(times: readonly FileTime[], count: number): string[] {
  return times
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, count)
    .map(({ file, seconds }) => `${file} ${seconds.toFixed(1)} s`);
}

/** The sums of tap's closing comments, such as `# { total: 12, pass: 11, skip: 1 }`: one of each process. */
export function countsIn(output: string): Counts {
  const closings = output.match(/^# \{ total: \d+,.*\}$/gm) ?? [];
  const sum = (key: string) =>
    closings
      .map((closing) => Number(new RegExp(`\\b${key}: (\\d+)`).exec(closing)?.[1] ?? 0))
      .reduce((total, count) => total + count, 0);
  return { pass: sum('pass'), fail: sum('fail'), skip: sum('skip') + sum('todo') };
}
