/** The CPU time of passes that run in threads of this process. */
export interface CpuMeter {
  /** Starts the measure of a pass; the returned function ends it and answers its CPU time in milliseconds. */
  begin(): () => number;
}

/**
 * Measures passes by CPU time, because on a host whose cores other processes take, the wall time of a pass says nothing
 * about the pass. libvips works on threads of libuv, whose time Node does not report by task. What the process uses
 * beside its main thread is the passes, and little else: it is divided evenly among those that run at the time. So the
 * time of a pass that runs alone is exact, and passes that run together have about the right sum.
 * @param workersMs CPU milliseconds that the workers of this process have used until now. A look takes about 2 µs.
 */
export function createCpuMeter(workersMs = cpuMsBesideThisThread): CpuMeter {
  let running = 0;
  /** CPU time that each running pass was given since the process started. */
  let sharedMs = 0;
  let seenMs = 0;

  function share(): void {
    const nowMs = workersMs();
    if (running > 0) sharedMs += (nowMs - seenMs) / running;
    seenMs = nowMs;
  }

  return {
    begin() {
      share();
      running += 1;
      const begunMs = sharedMs;
      return () => {
        share();
        running -= 1;
        return sharedMs - begunMs;
      };
    },
  };
}

function cpuMsBesideThisThread(): number {
  const all = process.cpuUsage();
  const own = process.threadCpuUsage();
  return (all.user + all.system - own.user - own.system) / 1_000;
}
