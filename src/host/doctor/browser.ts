import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../../../config/index.ts';
import { findSandboxObstacle } from '../../imaging/renders/sandbox.ts';
import { BrowserThread } from '../../imaging/renders/thread.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { checkBrowserPath } from '../processes/browser-path.ts';
import {
  type DoctorFinding,
  innermostMessageOf,
  okFinding,
  problemFinding,
  warningFinding,
} from './finding.ts';

const TEST_PAGE =
  '<!doctype html><title>Doctor</title><body style="margin:0;background:#e0533a">Drawn</body>';
const TEST_PAGE_EDGE_PX = 64;
/** The timeout of a render. It is long, because a cold start from a slow disk takes seconds. */
const RENDER_TIMEOUT_MS = 30_000;
const SILENT_LOG = { info: () => {}, warn: () => {}, error: () => {} };

/** The result of drawing one test page. */
interface TestedRender {
  /** The error; null when the page was drawn. */
  failure: { reason: string; message: string } | null;
  isSandboxed: boolean;
  milliseconds: number;
}

/** Checks the browser that draws templates: starts it as the service does, and draws one page. */
export async function checkBrowser({ renders }: Settings): Promise<DoctorFinding[]> {
  const path = browserPathFinding(renders.BROWSER_PATH);
  if (path.state === 'problem') return [path];
  const obstacle = await findSandboxObstacle();
  const page = await drawPage(renders);
  const withoutSandbox = obstacle ?? (page.isSandboxed ? null : 'Chromium itself could not have it');
  return [path, testedRenderFinding(page), browserSandboxFinding(withoutSandbox, renders.RENDER_SANDBOX)];
}

/** Draws a page in a separate thread and browser, which end afterwards. */
async function drawPage(renders: Settings['renders']): Promise<TestedRender> {
  const cacheDir = await mkdtemp(join(tmpdir(), 'darkroom-doctor-'));
  let isSandboxed = true;
  const thread = new BrowserThread(
    {
      browserPath: renders.BROWSER_PATH,
      cacheDir,
      sandbox: renders.RENDER_SANDBOX,
      recycleAfterPages: renders.RENDER_RECYCLE_PAGES,
      memoryLimitBytes: renders.RENDER_MEMORY_MEGABYTES * MEGABYTE_BYTES,
    },
    {
      log: SILENT_LOG,
      onUnsandboxed: () => {
        isSandboxed = false;
      },
    },
  );
  const startMs = performance.now();
  const deadlineMs = Date.now() + RENDER_TIMEOUT_MS;
  const size = { width: TEST_PAGE_EDGE_PX, height: TEST_PAGE_EDGE_PX };
  try {
    const answer = await thread.draw(
      { kind: 'render', html: TEST_PAGE, ...size, accountId: 'doctor', assets: {}, deadlineMs },
      { clientGone: new AbortController().signal, onDrawing: () => {} },
    );
    const failure = answer.kind === 'render_failure' ? answer : null;
    return { failure, isSandboxed, milliseconds: performance.now() - startMs };
  } finally {
    await thread.stop();
    await rm(cacheDir, { recursive: true, force: true });
  }
}

function browserPathFinding(path: string): DoctorFinding {
  if (path === '')
    return okFinding(
      "BROWSER_PATH is not set: Playwright's browser, the system's or the packaged one is taken.",
    );
  try {
    checkBrowserPath(path);
    return okFinding(`The browser is ${path}.`);
  } catch (error) {
    return problemFinding(innermostMessageOf(error), 'Correct BROWSER_PATH: the start refuses it.');
  }
}

export function testedRenderFinding({ failure, milliseconds }: TestedRender): DoctorFinding {
  if (failure === null)
    return okFinding(`The browser started and drew a page in ${Math.round(milliseconds)} ms.`);
  const message = `The browser cannot draw a page: ${failure.message.trim().replace(/\.$/, '')}.`;
  if (failure.reason === 'crash')
    return problemFinding(
      message,
      'The browser is installed, and its processes die: raise the limits of open files, processes and memory that are too small above.',
    );
  if (/EACCES/.test(failure.message))
    return problemFinding(
      message,
      `The folder of the browser forbids programs (mounted noexec): allow them where the service unpacks it (DATA_DIR) and the doctor does (TMPDIR, ${tmpdir()}), or set BROWSER_PATH.`,
    );
  return problemFinding(
    message,
    'Install chromium-headless-shell with the libraries that it names, set BROWSER_PATH to it, or leave BROWSER_PATH out.',
  );
}

/**
 * The finding about the browser's sandbox.
 * @param setting the value of RENDER_SANDBOX. With `required`, renders are refused if there is no sandbox.
 */
export function browserSandboxFinding(obstacle: string | null, setting: string): DoctorFinding {
  if (obstacle === null) return okFinding('Browsers run within their sandbox.');
  const message = `Browsers run without their sandbox: ${obstacle}.`;
  const remedy =
    'Run the service as a dedicated user, on a kernel that grants user namespaces (see RENDER_SANDBOX).';
  return setting === 'required' ? problemFinding(message, remedy) : warningFinding(message, remedy);
}
