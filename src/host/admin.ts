import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadSettingsFile, readSettings } from '../../config/index.ts';
import { SettingsError } from '../platform/setting.ts';
import { PrimaryChannelHost } from '../platform/stores/embedded/channel.ts';
import { hasEmbeddedStores, openStores, storesExist } from '../platform/stores/open.ts';
import { listenToAttempts, type TailedAttempt } from '../product/webhooks/deliveries/tail.ts';
import type { CommandResult } from './admin/command.ts';
import { commandHelp, createStoresContext, needsRunningService, runCommand } from './admin/commands.ts';
import { noStoresMessage, runMigrateCommand } from './admin/migration.ts';
import { askPrimary, listenThroughPrimary } from './admin/socket.ts';
import {
  parseListenOptions,
  printDeliveryAttempt,
  type WebhookListenOptions,
} from './admin/webhook-commands.ts';
import { COLLECTIONS } from './collections.ts';

/**
 * Runs a command of the operator: through the running primary if it owns the stores, otherwise directly on the stores.
 * Prints the result as text, or with --json as one JSON object. On failure it prints one sentence and exits with code
 * 1.
 */
async function main(words: readonly string[]): Promise<CommandResult> {
  for (const warning of loadSettingsFile()) printProgress(warning);
  const settings = readSettings(process.env);
  if (isMigration(words)) return runMigrateCommand(words, settings.stores, process.env, printProgress);
  if (hasEmbeddedStores(settings.stores)) {
    const answer = await askPrimary(settings.stores.DATA_DIR, words, operator);
    if (answer !== null) return answer;
    // The command does not open the stores itself, because a service that starts meanwhile could then not open them.
    if (needsRunningService(words)) throw new Error(noServiceMessage(settings.stores.DATA_DIR));
  }
  if (!storesExist(settings.stores)) throw new Error(noStoresMessage(settings.stores.DATA_DIR));
  const stores = await openStores(settings.stores, new PrimaryChannelHost());
  try {
    // The command may be the first program on these stores, so the collections may be missing.
    await Promise.all(COLLECTIONS.map((spec) => stores.documents.prepare(spec)));
    return await runCommand(words, { ...createStoresContext(settings, stores), ...operator });
  } finally {
    await stores.close();
  }
}

/** Whether the command is a migration. The service must be stopped for it, so it never runs in the primary. */
const isMigration = (words: readonly string[]) => words.find((word) => !word.startsWith('-')) === 'migrate';

/**
 * Prints the delivery attempts of a webhook endpoint, and forwards them if a URL is given, until the operator stops the
 * command.
 */
async function listenForWebhooks({ endpointId, forward }: WebhookListenOptions): Promise<never> {
  loadSettingsFile();
  const settings = readSettings(process.env);
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  const onAttempt = (attempt: TailedAttempt) => void printDeliveryAttempt(attempt, forward, print);
  if (hasEmbeddedStores(settings.stores)) {
    if (await listenThroughPrimary(settings.stores.DATA_DIR, endpointId, onAttempt))
      throw new Error('The service has stopped.');
    throw new Error(noServiceMessage(settings.stores.DATA_DIR));
  }
  await listenToAttempts(await openStores(settings.stores, new PrimaryChannelHost()), endpointId, onAttempt);
  return new Promise<never>(() => undefined);
}

function noServiceMessage(dataDir: string): string {
  return `No service runs on DATA_DIR (${resolve(dataDir)}): start it, or give this command the DATA_DIR of the one that runs.`;
}

/**
 * Runs a command once a second and shows its result, until the operator stops it. On a terminal, each result replaces
 * the last one.
 */
async function watchCommand(words: readonly string[]): Promise<never> {
  for (;;) {
    const result = await main(words);
    if (process.stdout.isTTY && !wantsJson) process.stdout.write('\x1b[2J\x1b[H');
    printResult(result);
    await sleep(WATCH_INTERVAL_MS);
  }
}

/** Prints a result as text, or with --json as one line of JSON. */
function printResult({ data, text }: CommandResult): void {
  process.stdout.write(`${wantsJson ? JSON.stringify(data) : text}\n`);
}

/**
 * The name of the user who called sudo, or of the user of this process. Where users have no names, as in some
 * containers, it is the user's number.
 */
function userName(): string {
  try {
    return process.env.SUDO_USER ?? userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}

const printProgress = (line: string) => void process.stderr.write(`${line}\n`);
const operator = {
  by: `${userName()} on ${hostname()}, pid ${process.pid}`,
  folder: process.cwd(),
  onProgress: printProgress,
};
const WATCH_INTERVAL_MS = 1_000;
const words = process.argv.slice(2);
const wantsJson = words.includes('--json');
try {
  const help = commandHelp(words);
  const listenOptions = help === null ? parseListenOptions(words) : null;
  if (listenOptions !== null) await listenForWebhooks(listenOptions);
  if (help === null && words.includes('--watch')) await watchCommand(words);
  printResult(help === null ? await main(words) : { data: { help }, text: help });
  process.exit(0);
} catch (error) {
  const message = error instanceof SettingsError ? error.violations.join('\n') : (error as Error).message;
  process.stderr.write(`${wantsJson ? JSON.stringify({ error: { message } }) : message}\n`);
  process.exit(1);
}
