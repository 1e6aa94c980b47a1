import { accessSync, constants, statSync } from 'node:fs';
import { SettingsError } from '../../platform/setting.ts';

/**
 * Checks that BROWSER_PATH names a program, if it names anything.
 * @throws SettingsError if it does not.
 */
export function checkBrowserPath(path: string): void {
  if (path === '' || isProgram(path)) return;
  const message = `BROWSER_PATH is ${JSON.stringify(path)}, but there is no program there that may be run: name the chromium or headless shell, or leave it out.`;
  throw new SettingsError([message]);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
