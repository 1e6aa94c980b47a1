import { choiceSetting, integerSetting, pathSetting } from '../../platform/setting.ts';

export const rendersSettings = {
  RENDER_THREADS: integerSetting({
    description: 'Threads of each API process that draw templates, each with a browser of its own.',
    fallback: 1,
    min: 1,
    max: 64,
  }),
  RENDER_QUEUE: integerSetting({
    description:
      'Renders of each API process that may wait for a thread; further ones are refused with 503 capacity.',
    fallback: 32,
    min: 0,
    max: 10_000,
  }),
  RENDER_TIMEOUT_MS: integerSetting({
    description:
      'Time that a render may take, from the request to its answer; its browser is killed when it passes.',
    fallback: 20_000,
    min: 100,
    max: 120_000,
  }),
  BROWSER_PATH: pathSetting({
    description: 'The Chromium that draws templates, preferably chromium-headless-shell.',
    defaultText: "Playwright's own install, else the system's, else the bundled one",
  }),
  RENDER_SANDBOX: choiceSetting({
    description:
      "Chromium's sandbox around templates: auto runs without it, with a warning, as root and on a kernel that grants no user namespaces; required refuses renders instead.",
    fallback: 'auto',
    values: ['auto', 'required'],
  }),
  RENDER_RECYCLE_PAGES: integerSetting({
    description: 'Pages that a browser draws before a fresh one takes its place.',
    fallback: 1_000,
    min: 1,
    max: 1_000_000,
  }),
  RENDER_MEMORY_MEGABYTES: integerSetting({
    description:
      'Memory that a browser may hold: a page that needs more is refused, and a fresh browser takes its place.',
    fallback: 1_024,
    min: 256,
    max: 65_536,
  }),
};
