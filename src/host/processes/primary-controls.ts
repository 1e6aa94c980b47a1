import { saveSettings } from '../../../config/env-file.ts';
import type { ChangeableCapacity } from '../../platform/capacity/capacity.ts';
import type { Control, ControlHandler } from './controls.ts';
import type { Supervisor } from './supervisor.ts';

/**
 * What the primary of a host does for an operator: replaces one of its processes, changes their number, and sees to it
 * that a process which is started later has the settings that were changed.
 */
export function primaryControls(
  hostId: string,
  supervisor: Supervisor,
  capacity: ChangeableCapacity,
): ControlHandler {
  async function set({ name, value, save }: Extract<Control, { kind: 'set' }>) {
    capacity.set(name, value);
    process.env[name] = String(value);
    if (name === 'PROCESSES') await supervisor.resize(value);
    if (save) saveSettings({ [name]: String(value) });
    return { [name]: value, ...(save && { saved: true }) };
  }

  return async (control) => {
    if (control.kind === 'set') return set(control);
    if (control.kind !== 'drain' || control.hostId !== hostId) return null;
    const isFound = await supervisor.replace(Number(control.processId));
    if (!isFound) throw new Error(`This host has no process ${control.processId}.`);
    return { replaced: control.processId };
  };
}
