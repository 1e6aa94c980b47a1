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

/** The files that took longest, as `file 12.3 s`. */
export function slowestIn(output: string, count: number): string[] {
  const durations = [...output.matchAll(/^(?:not )?ok \d+ - (\S+\.test\.ts.*?) # time=([\d.]+)ms/gm)];
  return durations
    .map(([, file = '', ms]) => ({ file, seconds: Number(ms) / 1000 }))
    .sort((one, other) => other.seconds - one.seconds)
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
