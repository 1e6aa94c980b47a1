// needs: server, browser
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import t from 'tap';
import { sharedServer } from '../support/harness.ts';
import { npmInstalled } from '../support/services/npm.ts';
import { clientProject, examplesOf } from './project.ts';

/** The runtimes beside Node that the client promises: their packages hold the program of each machine. */
const [denoArch, bunArch] = process.arch === 'arm64' ? ['arm64', 'aarch64'] : ['x64', 'x64'];
const RUNTIMES = [
  {
    name: 'Deno',
    packages: { [`@deno/linux-${denoArch}-glibc`]: '2.9.6' },
    program: `@deno/linux-${denoArch}-glibc/deno`,
    args: ['run', '--allow-all', '--no-remote', '--node-modules-dir=manual'],
  },
  {
    name: 'Bun',
    packages: { [`@oven/bun-linux-${bunArch}`]: '1.4.4' },
    program: `@oven/bun-linux-${bunArch}/bin/bun`,
    args: ['run', '--no-install'],
  },
];
const EXAMPLES = [
  'One image',
  'Several pictures of one image',
  'A job over many images',
  'Errors and retries',
];

const server = await sharedServer();
const { key } = await server.account({ credits: 1_000 });
const project = await clientProject(t);
const photo = { create: { width: 1200, height: 900, channels: 3, background: 'red' } } as const;
await sharp(photo).jpeg().toFile(join(project.folder, 'photo.jpg'));
const examples = await examplesOf('ts');
const SMALL = join(project.folder, 'small.webp');

for (const { name, packages, program, args } of RUNTIMES) {
  t.test(`the examples of the client run in ${name}`, async (t) => {
    const modules = process.platform === 'linux' ? await npmInstalled(packages) : null;
    if (modules === null) {
      t.plan(0, `${name} cannot be had here`);
      return;
    }
    await rm(SMALL, { force: true });
    for (const [index, title] of EXAMPLES.entries()) {
      const file = `example-${index}.ts`;
      await writeFile(join(project.folder, file), examples.get(title) ?? `throw new Error('no ${title}')`);
      const said = await project.run(join(modules, program), [...args, file], {
        DARKROOM_URL: server.url,
        DARKROOM_KEY: key,
      });
      t.match(said, { code: 0 }, `${title}: ${said.stderr}`);
    }
    t.equal((await sharp(SMALL).metadata()).width, 320, 'the picture was saved');
  });
}
