/**
 * Measures passes in threads of this process by CPU time, because on a host whose cores other processes take, the wall
 * time of a pass says nothing about the pass. libvips works on threads of libuv, whose time Node does not report by
 * task. What the process uses beside its main thread is the passes, and little else: it is divided evenly among those
 * that run at the time. So the time of a pass that runs alone is exact, and passes that run together have about the
 * right sum.
 */
export class CpuMeter {
  readonly #workersMs: () => number;
  #running = 0;
  /** CPU time that each running pass was given since the process started. */
  #sharedMs = 0;
  #seenMs = 0;

  /** @param workersMs CPU milliseconds that its workers have used until now. A look takes about 2 µs. */
  constructor(workersMs = cpuMsBesideThisThread) {
    this.#workersMs = workersMs;
  }

  /** Starts the measure of a pass; the returned function ends it and answers its CPU time in milliseconds. */
  begin(): () => number {
    this.#share();
    this.#running += 1;
    const begunMs = this.#sharedMs;
    return () => {
      this.#share();
      this.#running -= 1;
      return this.#sharedMs - begunMs;
    };
  }

  #share(): void {
    const nowMs = this.#workersMs();
    if (this.#running > 0) this.#sharedMs += (nowMs - this.#seenMs) / this.#running;
    this.#seenMs = nowMs;
  }
}

function cpuMsBesideThisThread(): number {
  const all = process.cpuUsage();
  const own = process.threadCpuUsage();
  return (all.user + all.system - own.user - own.system) / 1_000;
}
