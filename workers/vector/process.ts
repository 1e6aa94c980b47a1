import sharp from 'sharp';
import { serveTasks } from '../transport/child-process.ts';
import type { RasterizeResult, RasterizeTask } from './protocol.ts';
import { rasterizeSvg } from './rasterize.ts';

/** This process draws one SVG at a time. */
sharp.concurrency(1);
sharp.cache(false);

serveTasks<RasterizeTask, RasterizeResult>(async (task) => {
  const drawn = await rasterizeSvg(task);
  if (!('pixels' in drawn)) return { reply: drawn };
  return { reply: drawn.reply, bytes: drawn.pixels };
});
