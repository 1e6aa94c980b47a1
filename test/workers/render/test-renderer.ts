import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Test } from 'tap';
import { BrowserKeeper, type KeeperClock } from '../../../workers/render/keeper.ts';
import type { RenderClient, RenderFailure, RenderTask } from '../../../workers/render/protocol.ts';
import { createRenderer } from '../../../workers/render/renderer.ts';

export const BROWSER_CACHE = join(tmpdir(), 'darkroom-test-browser');

/** The departure of a client that waits for its answer. */
const NEVER = new AbortController().signal;

/** RGBA of one point. */
export type Pixel = [number, number, number, number];

export interface Picture {
  width: number;
  height: number;
  /** RGBA, row by row. */
  raw: Buffer;
  pixel(x: number, y: number): Pixel;
  /** Whether any pixel passes. */
  some(test: (pixel: Pixel) => boolean): boolean;
}

export interface TestRenderer {
  keeper: BrowserKeeper;
  notices: string[];
  /** 200 × 100, account `acc_a`, 15 s by default. */
  render(
    html: string,
    task?: Partial<RenderTask>,
    client?: Partial<RenderClient>,
  ): Promise<Picture | RenderFailure>;
  /** The same for a page that has to succeed. */
  draw(html: string, task?: Partial<RenderTask>): Promise<Picture>;
}

/** A real browser for one test file, ended with it. */
export function openTestRenderer(
  t: Test,
  options: { recycleAfterPages?: number; browserPath?: string; clock?: KeeperClock } = {},
): TestRenderer {
  const notices: string[] = [];
  const { recycleAfterPages = 10_000, browserPath = process.env.BROWSER_PATH ?? '' } = options;
  const keeper = new BrowserKeeper(
    { browserPath, cacheDir: BROWSER_CACHE, sandbox: 'auto', recycleAfterPages, memoryLimitBytes: 2 ** 32 },
    (notice) => notices.push(`${notice.level}: ${notice.message}`),
    options.clock,
  );
  t.teardown(() => keeper.stop());
  const renderPage = createRenderer(keeper);

  async function render(
    html: string,
    task: Partial<RenderTask> = {},
    client: Partial<RenderClient> = {},
  ): Promise<Picture | RenderFailure> {
    const full: RenderTask = {
      kind: 'render',
      html,
      width: 200,
      height: 100,
      accountId: 'acc_a',
      assets: {},
      deadlineMs: Date.now() + 15_000,
      ...task,
    };
    const result = await renderPage(full, { clientGone: NEVER, onDrawing: () => {}, ...client });
    return result.kind === 'rendered' ? pictureOf(result.data) : result;
  }

  async function draw(html: string, task: Partial<RenderTask> = {}): Promise<Picture> {
    const result = await render(html, task);
    if ('reason' in result) throw new Error(`${result.reason}: ${result.message}`);
    return result;
  }

  return { keeper, notices, render, draw };
}

export async function pictureOf(png: Uint8Array): Promise<Picture> {
  const { data, info } = await sharp(png).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (offset: number): Pixel => [
    data[offset] ?? 0,
    data[offset + 1] ?? 0,
    data[offset + 2] ?? 0,
    data[offset + 3] ?? 0,
  ];
  return {
    width: info.width,
    height: info.height,
    raw: data,
    pixel: (x, y) => at((y * info.width + x) * 4),
    some(test) {
      for (let offset = 0; offset < data.length; offset += 4) if (test(at(offset))) return true;
      return false;
    },
  };
}

/** A PNG of one colour. */
export function swatch(background: string, size = 8): Promise<Buffer> {
  return sharp({ create: { width: size, height: size, channels: 3, background } })
    .png()
    .toBuffer();
}

/** A PNG asset of one colour, as a task carries it. */
export async function swatchAsset(background: string): Promise<{ data: Uint8Array; contentType: string }> {
  return { data: await swatch(background), contentType: 'image/png' };
}
