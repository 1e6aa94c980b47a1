import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';

/** A shared camera photograph if it exists, else a picture with as much detail. */
export async function photograph(): Promise<Buffer> {
  try {
    return readFileSync(join(import.meta.dirname, '../../shared/images/photos/nikon-d90.jpg'));
  } catch {
    const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
    return sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#888', noise } })
      .blur(2)
      .jpeg({ quality: 95 })
      .toBuffer();
  }
}
