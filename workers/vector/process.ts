import { Socket } from 'node:net';
import process from 'node:process';
import sharp from 'sharp';
import type { RasterizeResult, RasterizeTask } from '../protocol.ts';
import { rasterize } from './rasterize.ts';

/**
 * Draws one SVG at a time for the process that forked it: a RasterizeTask comes as a message, a RasterizeResult goes
 * back as one, and the pixels follow on a pipe of their own, so that they are copied into their place at once.
 * It keeps no state: its owner kills it at any moment.
 */
const PIXEL_PIPE = 4;

sharp.concurrency(1);
sharp.cache(false);

const pipe = new Socket({ fd: PIXEL_PIPE, readable: false });

process.on('message', async (task: RasterizeTask) => {
  const drawn = await rasterize(task);
  if ('pixels' in drawn) {
    answer(drawn.verdict);
    pipe.write(drawn.pixels);
  } else {
    answer(drawn);
  }
});

// An ordinary exit would wait for a drawing that may never end.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

function answer(result: RasterizeResult): void {
  process.send?.(result);
}
