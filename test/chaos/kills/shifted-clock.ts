/**
 * Preloaded into every process and thread of a host whose clock is wrong by CLOCK_SHIFT_MS. Durations
 * (performance.now, timers) stay right, as they do on such a host.
 */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const rightNow = Date.now;

globalThis.Date = new Proxy(Date, {
  construct: (target, given, self) =>
    Reflect.construct(target, given.length === 0 ? [Date.now()] : given, self),
  apply: () => new Date().toString(),
});
Date.now = () => rightNow() + shiftMs;
