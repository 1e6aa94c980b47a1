import sharp from 'sharp';
import { serveTasks } from '../transport/child-process.ts';
import type { RasterizeResult, RasterizeTask } from './protocol.ts';
import { rasterizeSvg } from './rasterize.ts';

/** This process draws one SVG at a time. */
sharp.concurrency(1);
sharp.cache(false);

serveTasks<RasterizeTask, RasterizeResult>(rasterizeSvg);
