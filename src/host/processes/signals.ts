import type { Logger } from 'pino';
import { pendingSettings } from '../../../config/index.ts';
import { SettingsError } from '../../platform/setting.ts';
import type { HostReporter } from '../operator/host-report.ts';
import type { Supervisor } from './supervisor.ts';

/**
 * Stops the service once, on SIGTERM or SIGINT.
 * @returns a signal that aborts once the service stops.
 */
export function stopOnSignals(stop: () => Promise<void>, log: Logger): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (stopping.signal.aborted) return;
      stopping.abort();
      log.info(`${signal}: draining`);
      void stop();
    });
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const)
    process.on(signal, () =>
      log.warn(`${signal} does nothing: SIGHUP replaces the API processes, and SIGTERM stops the service.`),
    );
  return stopping.signal;
}

interface ReloadOptions {
  supervisor: Pick<Supervisor, 'replaceAll'>;
  reporter: Pick<HostReporter, 'recordMark'>;
  log: Logger;
  /** The environment of the primary, without the settings file. */
  environment: NodeJS.ProcessEnv;
}

/** Replaces the processes on SIGHUP, if the settings file is valid. */
export function replaceOnReload({ supervisor, reporter, log, environment }: ReloadOptions): void {
  process.on('SIGHUP', () => {
    if (!isSettingsFileValid(environment, log)) return;
    log.info({ by: 'SIGHUP' }, 'Every API process is replaced');
    reporter.recordMark({ kind: 'reload', by: 'SIGHUP', text: 'Every process is replaced' });
    void supervisor.replaceAll();
  });
}

/**
 * Whether the next start would accept the settings file. Processes that start now still get the settings of the
 * primary, so the log names the changed settings that need a restart.
 */
function isSettingsFileValid(environment: NodeJS.ProcessEnv, log: Logger): boolean {
  try {
    const pending = pendingSettings(environment);
    if (pending.length > 0)
      log.warn(`A restart takes in what the settings file says otherwise: ${pending.join(', ')}.`);
    return true;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const faults = error.violations.join(' ');
    log.error(
      `No API process was replaced, and a restart would fail: ${faults} Correct it, and send SIGHUP again.`,
    );
    return false;
  }
}
