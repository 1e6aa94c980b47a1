import perfHooks from 'node:perf_hooks';

/**
 * A look at the event loop reports the time since the last look, which is up to this much more than the turn between
 * them.
 */
const LOOKS_EVERY_MS = 2;

// Preloaded into a service that is measured: its metrics look at the event loop far too rarely for a turn of 50 ms, so
// that an idle process is left alone.
const monitor = perfHooks.monitorEventLoopDelay;
perfHooks.monitorEventLoopDelay = () => monitor({ resolution: LOOKS_EVERY_MS });
