import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import promises from 'node:timers/promises';

/**
 * Preloaded into every process and thread of a host with a false clock. CLOCK_SHIFT_MS is how far it is ahead, while
 * durations stay right, as they do on such a host. CLOCK_SPEED is how fast time passes since CLOCK_ORIGIN_MS, timers
 * and durations included, so that leases end and sweeps come sooner.
 */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS ?? 0);
const speed = Number(process.env.CLOCK_SPEED ?? 1);
const originMs = Number(process.env.CLOCK_ORIGIN_MS ?? 0);
/** The time that the supervisor gives a process to start. A start is work, which is not faster than elsewhere. */
const START_TIMEOUT_MS = 60_000;
const rightNow = Date.now;
const rightElapsed = performance.now.bind(performance);

globalThis.Date = new Proxy(Date, {
  construct: (target, given, self) =>
    Reflect.construct(target, given.length === 0 ? [Date.now()] : given, self),
  apply: () => new Date().toString(),
});
Date.now = () => Math.round(originMs + (rightNow() - originMs) * speed) + shiftMs;

if (speed !== 1) {
  performance.now = () => rightElapsed() * speed;
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const right = timers[name];
    const hurried = (callback: () => void, delayMs = 0, ...rest: []) =>
      right(callback, delayMs === START_TIMEOUT_MS ? delayMs : delayMs / speed, ...rest);
    Object.defineProperties(hurried, Object.getOwnPropertyDescriptors(right));
    Object.assign(timers, { [name]: hurried });
    Object.assign(globalThis, { [name]: hurried });
  }
  const { setTimeout: rightPause } = promises;
  promises.setTimeout = (delayMs = 0, ...rest) => rightPause(delayMs / speed, ...rest);
  const rightTimeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (delayMs) => rightTimeout(Math.ceil(delayMs / speed));
  syncBuiltinESMExports();
}
