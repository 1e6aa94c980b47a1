import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cachedFolder, type TestServer } from '../server.ts';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const POM = `${FOLDER}pom.xml`;
const JAVA_SOURCES = ['MongoServer', 'DatabaseWithPartialIndexes', 'PartialUniqueIndex'].map(
  (name) => `${FOLDER}${name}.java`,
);
const BUILD_TIMEOUT_MS = 5 * 60_000;

/**
 * Starts MongoServer.java on a free port. The first call builds it with Maven. The server ends with this process in any
 * case, because it waits for the end of an input that this process holds open.
 */
export async function startMongoJavaServer(): Promise<TestServer> {
  const sources = await Promise.all([POM, ...JAVA_SOURCES].map((path) => readFile(path)));
  const version = createHash('sha256').update(Buffer.concat(sources)).digest('hex').slice(0, 12);
  const folder = await cachedFolder(`mongo-java-server-${version}`, build);

  const server = spawn('java', ['-Xmx512m', '-cp', `${folder}:${folder}/*`, 'MongoServer'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface({ input: server.stdout });
  const [url] = await Promise.race([
    once(lines, 'line'),
    once(server, 'exit').then(() => Promise.reject(new Error('the Java server of MongoDB did not start'))),
  ]);
  return {
    url,
    async stop() {
      server.stdin.end();
      if (server.exitCode === null) await once(server, 'exit');
    },
  };
}

async function build(folder: string): Promise<void> {
  const options = { timeout: BUILD_TIMEOUT_MS };
  const copy = ['-q', '-B', '-f', POM, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`];
  await run('mvn', copy, options);
  await run('javac', ['-cp', `${folder}/*`, '-d', folder, ...JAVA_SOURCES], options);
}
