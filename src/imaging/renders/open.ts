import { join } from 'node:path';
import type { Capacity } from '../../platform/capacity/capacity.ts';
import { MEGABYTE } from '../../platform/names/units.ts';
import type { SettingsOf } from '../../platform/settings/setting.ts';
import type { rendersSettings } from './config.ts';
import { createRenders, type Renders } from './renders.ts';
import { sandboxObstacle } from './sandbox.ts';
import type { RenderLog } from './thread.ts';

interface OpenRendersOptions {
  settings: SettingsOf<typeof rendersSettings>;
  capacity: Capacity;
  /** DATA_DIR; the bundled browser is unpacked in a folder below it. */
  dataDir: string;
  log: RenderLog;
}

/** Opens the render threads as the operator's settings say. */
export async function openRenders(options: OpenRendersOptions): Promise<Renders> {
  const { settings, capacity, dataDir, log } = options;
  const renders = createRenders({
    threads: capacity.renderThreads(),
    queueLimit: settings.RENDER_QUEUE,
    browserPath: settings.BROWSER_PATH,
    cacheDir: join(dataDir, 'browser'),
    sandbox: settings.RENDER_SANDBOX,
    sandboxed: (await sandboxObstacle()) === null,
    recycleAfterPages: settings.RENDER_RECYCLE_PAGES,
    recycleAboveBytes: settings.RENDER_MEMORY_MEGABYTES * MEGABYTE,
    log,
  });
  capacity.onChange(() => renders.resize(capacity.renderThreads()));
  return renders;
}
