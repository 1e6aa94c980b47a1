/** Reports how much of a copy is done. */
export interface CopyProgress {
  done(count: number): void;
}

/**
 * Calls back with a line such as `objects: 1200 of 4800 (25 %)` at each further tenth, and at the end.
 * @param name what is counted.
 */
export function createProgress(
  name: string,
  total: number,
  onProgress: (line: string) => void,
): CopyProgress {
  let done = 0;
  let reported = 0;
  return {
    done(count) {
      done += count;
      const percent = Math.min(100, Math.floor((done / total) * 100));
      if (percent < reported + 10 && done < total) return;
      reported = percent - (percent % 10);
      onProgress(`${name}: ${done} of ${total} (${percent} %)`);
    },
  };
}
