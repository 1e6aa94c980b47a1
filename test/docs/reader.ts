import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import type { Test } from 'tap';
import type { TestServer } from '../support/harness.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const COMMANDS = join(import.meta.dirname, 'commands.ts');
const TIMEOUT_MS = 600_000;

/** Whether the samples in Python can run here. */
export const HAS_PYTHON = spawnSync('python3', ['-c', 'import requests']).status === 0;

/** Somebody who reads the pages and runs what stands there, in a folder with a photo and the sources of the gallery. */
export interface Reader {
  key: string;
  /** The photo as an asset of the account. */
  asset: string;
  photo: Uint8Array<ArrayBuffer>;
  directory: string;
  /** Runs commands of a shell; curl fails where the service refuses. */
  shell(commands: string): Promise<string>;
  /** Runs commands of `darkroom`, one after the other in one process: starting it takes longer than what it does. */
  commands(commands: readonly string[]): Promise<string>;
  /** Runs scripts one after the other in one process, each as a file of its own. */
  scripts(language: 'ts' | 'python', samples: readonly string[]): Promise<string>;
}

/** @param more further variables of the environment. */
export async function openReader(
  t: Pick<Test, 'teardown'>,
  server: TestServer,
  more: Record<string, string> = {},
): Promise<Reader> {
  const { key } = await server.account({ credits: 10_000 });
  const photo = new Uint8Array(
    await sharp({ create: { width: 640, height: 480, channels: 3, background: '#336699' } })
      .jpeg()
      .toBuffer(),
  );
  const uploaded = await server.call('/assets/upload', { key, body: photo, type: 'image/jpeg' });
  const asset: string = uploaded.json.data.id;
  const directory = await mkdtemp(join(tmpdir(), 'darkroom-reader-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'photo.jpg'), photo);
  await sharp(photo).png().toFile(join(directory, 'photo.png'));
  const sources = 'docs/gallery/sources';
  await cp(join(ROOT, sources), join(directory, sources), { recursive: true });
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    // Most of what a command of the client takes is compiling it.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    KEY: key,
    BASE: server.url,
    ASSET: asset,
    DARKROOM_URL: server.url,
    DARKROOM_KEY: key,
    ...more,
  };
  const options = { cwd: directory, env, timeout: TIMEOUT_MS };

  async function shell(commands: string): Promise<string> {
    const strict = `set -euo pipefail
curl() { command curl -sS --fail-with-body "$@"; }
darkroom() { ${process.execPath} ${ROOT}/src/client/cli/main.ts "$@"; }
`;
    return (await run('bash', ['-c', strict + commands], options)).stdout;
  }

  async function commands(commands: readonly string[]): Promise<string> {
    // The shell tells the words of each, and a line break behind them.
    const said = await shell(`darkroom() { printf '%s\\0' "$@" $'\\n'; }\n${commands.join('\n')}`);
    const words = said.split('\0\n\0').slice(0, -1);
    const asJson = JSON.stringify(words.map((text) => text.split('\0')));
    return (await run(process.execPath, [COMMANDS, asJson], options)).stdout;
  }

  async function scripts(language: 'ts' | 'python', samples: readonly string[]): Promise<string> {
    const extension = language === 'ts' ? 'mts' : 'py';
    const names = await Promise.all(
      samples.map(async (sample, index) => {
        const name = `sample-${index}.${extension}`;
        await writeFile(join(directory, name), sample);
        return name;
      }),
    );
    const main =
      language === 'ts'
        ? names.map((name) => `await import('./${name}');`).join('\n')
        : `import runpy\nfor name in ${JSON.stringify(names)}: runpy.run_path(name)`;
    await writeFile(join(directory, `main.${extension}`), main);
    const program = language === 'ts' ? process.execPath : 'python3';
    return (await run(program, [`main.${extension}`], options)).stdout;
  }

  return { key, asset, photo, directory, shell, commands, scripts };
}

/** The samples of a page in a language, each as it stands between its fences. */
export function samplesIn(page: string, language: string): string[] {
  const fences = page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'));
  return [...fences].map(([, code = '']) => code);
}
