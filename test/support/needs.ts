import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What a test file needs, declared in its first line:
 *
 *     // needs: server, both stores
 *
 * The runner starts what the chosen files need and nothing else; files with similar needs share a process. A file
 * that needs `nothing` belongs to the fast run.
 */
export const NEEDS = {
  nothing: 'runs alone and within seconds: rules, words, a few pictures',
  pixels: 'makes pictures by the hundred, without a server',
  documents: 'keeps documents or coordination in embedded stores of its own, or starts processes for them',
  server: 'starts a whole server on the embedded stores',
  service: 'starts the service as an operator does, with processes of its own: takes long, and alone',
  'both stores':
    'depends on what stores promise: runs once on the embedded ones, once more on Redis and MongoDB',
  browser: 'draws in Chromium',
  waits: 'waits far longer than it computes, so that others run beside it',
  alone: 'measures its process, changes it or takes minutes, so that no other test file runs there',
  redis: 'talks to Redis',
  mongodb: 'talks to MongoDB',
  s3: 'talks to a server of S3',
  clients: 'makes clients by generators, which npm installs',
  checkers: 'runs programs that check files of deploy/, one of them installed by pip',
} as const;

export type Need = keyof typeof NEEDS;

const FIRST_LINE = /^\/\/ needs: ([^\n]+)\n/;
const root = join(import.meta.dirname, '../..');

/** Every test file, as a path from the root. */
export function testFiles(): string[] {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .sort();
}

/**
 * What a test file needs.
 * @throws Error when its first line does not declare it.
 */
export function needsOf(file: string): readonly Need[] {
  const names = FIRST_LINE.exec(readFileSync(join(root, file), 'utf8'))?.[1]?.split(', ') ?? [];
  if (names.length > 0 && names.every(isNeed)) return names;
  const known = Object.keys(NEEDS).join(', ');
  throw new Error(`${file}: its first line must say "// needs: …" with one or more of ${known}.`);
}

function isNeed(name: string): name is Need {
  return name in NEEDS;
}
