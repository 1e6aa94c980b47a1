import { homedir } from 'node:os';

/**
 * Sets HOME to a folder that does not exist if the user has no home, such as a user without a name. Playwright asks for
 * the home, and Node.js throws an error then. The processes and threads of this process inherit it.
 */
export function ensureHome(): void {
  try {
    homedir();
  } catch {
    process.env.HOME = '/nonexistent';
  }
}
