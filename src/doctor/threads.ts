import { accessSync, constants } from 'node:fs';
import type { Settings } from '../../config/index.ts';
import { sandboxObstacle } from '../pixels/renders/sandbox.ts';
import { chooseAllocator } from '../processes/allocator.ts';
import { type Finding, ok, problem, reasonOf, warning } from './finding.ts';

/** The browser that draws templates, and its sandbox. */
export async function lookAtBrowser({ renders }: Settings): Promise<Finding[]> {
  return [
    judgeBrowserPath(renders.BROWSER_PATH),
    judgeSandbox(await sandboxObstacle(), renders.RENDER_SANDBOX),
  ];
}

function judgeBrowserPath(path: string): Finding {
  if (path === '')
    return ok("BROWSER_PATH is not set: Playwright's browser, the system's or the packaged one is taken.");
  try {
    accessSync(path, constants.X_OK);
    return ok(`The browser is ${path}.`);
  } catch {
    return problem(
      `BROWSER_PATH (${path}) is no program.`,
      'Name the chromium or headless shell, or leave it out.',
    );
  }
}

export function judgeSandbox(obstacle: string | null, setting: string): Finding {
  if (obstacle === null) return ok('Browsers run within their sandbox.');
  const says = `Browsers run without their sandbox: ${obstacle}.`;
  const mend =
    'Run the service as a user of its own, on a kernel that grants user namespaces (see RENDER_SANDBOX).';
  return setting === 'on' ? problem(says, mend) : warning(says, mend);
}

/** What memory is taken from. */
export function judgeAllocator({ processes }: Settings): Finding {
  try {
    const { name } = chooseAllocator(processes.ALLOCATOR);
    return name === 'system'
      ? warning(
          "Memory is taken from the system's allocator, which gives little back.",
          'Install libjemalloc2.',
        )
      : ok(`Memory is taken from ${name}.`);
  } catch (error) {
    return problem(reasonOf(error), 'Leave ALLOCATOR out, or name a library that is there.');
  }
}
