import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { envFile, saveSettings } from '../../../config/env-file.ts';
import type { Capacity, CapacitySetting } from '../../platform/concurrency/capacity.ts';
import { grantedCores } from '../../platform/concurrency/control-group.ts';
import { takeLoadSnapshot } from '../../platform/metrics/load.ts';
import type { ObjectStore } from '../../platform/stores/objects/port.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { HostReporter } from '../operator/host-report.ts';
import type { ControlHandler, ProcessControl } from './controls.ts';
import { type DeploymentReport, hasObject } from './deployment.ts';
import type { Supervisor } from './supervisor.ts';

/**
 * Creates the handler of operators' controls in a primary. The primary replaces processes, changes their number, and
 * passes changed settings to processes that start later.
 */
export function createPrimaryControls(options: {
  hostId: string;
  supervisor: Supervisor;
  capacity: Capacity;
  /** Reports on the host, and records what was done to it. */
  reporter: HostReporter;
  /** The log, which gets one line for each change by an operator. */
  log: Logger;
  /** The fingerprints of the settings that all hosts must share. */
  settingFingerprints: DeploymentReport['fingerprints'];
  objects: ObjectStore;
}): ControlHandler {
  const { hostId, supervisor, capacity, reporter, log, settingFingerprints, objects } = options;

  async function set({ name, value, save, by }: Extract<ProcessControl, { kind: 'set' }>) {
    const before = capacity.values()[name];
    capacity.set(name, value);
    process.env[name] = String(value);
    supervisor.renewSpare();
    log.info({ by, setting: name, before, after: value }, 'A setting was changed');
    reporter.recordMark({ kind: 'set', by, text: `${name} ${before} → ${value}` });
    if (name === 'PROCESSES') await supervisor.resize(value);
    if (save) saveSetting(name, value);
    const warning = tooManyThreadsWarning(capacity);
    return { [name]: value, ...(save && { saved: resolve(envFile()) }), ...withoutAbsentFields({ warning }) };
  }

  /**
   * Writes a setting to the settings file.
   * @throws Error with a remedy: the setting is in force, but would be lost with the next start.
   */
  function saveSetting(name: CapacitySetting, value: number): void {
    try {
      saveSettings({ [name]: String(value) });
    } catch (error) {
      const message = `${name} is ${value} until the next start, but could not be saved in ${resolve(envFile())}: ${(error as Error).message}. Let the user of the service write this folder, or name another file by ENV_FILE.`;
      throw new Error(message, { cause: error });
    }
  }

  async function drain({ processId, by }: Extract<ProcessControl, { kind: 'drain' }>) {
    if (supervisor.processes().some((one) => one.processId === Number(processId)))
      reporter.recordMark({ kind: 'drain', by, text: `Process ${processId} is replaced` });
    const isFound = await supervisor.replace(Number(processId));
    if (!isFound) throw new Error(`This host has no process ${processId}.`);
    log.info({ by, replaced: processId }, 'An API process was replaced');
    return { replaced: processId };
  }

  return async (control) => {
    switch (control.kind) {
      case 'set':
        return set(control);
      case 'load':
        return { ...(await takeLoadSnapshot()) };
      case 'state':
        return { ...reporter.report(control.afterMs) };
      case 'drain':
        return control.hostId === hostId ? drain(control) : null;
      case 'log':
        reporter.recordMark({ kind: 'log', by: control.by, text: logLevelText(control) });
        return null;
      case 'settings': {
        const report: DeploymentReport = {
          fingerprints: settingFingerprints,
          hasObject: await hasObject(objects, control.object),
        };
        return { ...report };
      }
      case 'pools':
        return null;
    }
  };
}

function logLevelText({ level, forMs }: Extract<ProcessControl, { kind: 'log' }>): string {
  return forMs === null ? `Log level ${level}` : `Log level ${level} for ${forMs / 1_000} s`;
}

/** The warning that all processes together have more image threads than cores; undefined otherwise. */
function tooManyThreadsWarning(capacity: Capacity): string | undefined {
  const [processes, threads, cores] = [capacity.processes(), capacity.imageThreads(), grantedCores()];
  if (processes * threads <= cores) return undefined;
  return `PROCESSES × IMAGE_THREADS is ${processes} × ${threads} on ${cores} cores, which they share`;
}
