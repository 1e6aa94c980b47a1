/** The longest turn of an event loop. */
export interface LongestTurn {
  /** From its start to its end, with the time in which the kernel gave the core to others. */
  ms: number;
  /** CPU time of the thread in the turn that took most of it, which a busy machine does not stretch. */
  cpuMs: number;
}

/** A look reports the time since the last look, which is up to this much more than the turn between them. */
const LOOKS_EVERY_MS = 2;

/** Watches the event loop of this thread. @returns a function that answers its longest turn since the last call. */
export function watchTurns(): () => LongestTurn {
  let longest: LongestTurn = { ms: 0, cpuMs: 0 };
  let last = look();
  const note = () => {
    const now = look();
    longest = {
      ms: Math.max(longest.ms, now.ms - last.ms),
      cpuMs: Math.max(longest.cpuMs, now.cpuMs - last.cpuMs),
    };
    last = now;
  };
  setInterval(note, LOOKS_EVERY_MS).unref();
  return () => {
    const turn = longest;
    longest = { ms: 0, cpuMs: 0 };
    return turn;
  };
}

function look(): LongestTurn {
  const { user, system } = process.threadCpuUsage();
  return { ms: performance.now(), cpuMs: (user + system) / 1_000 };
}
