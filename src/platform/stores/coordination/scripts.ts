import { readFileSync } from 'node:fs';

/** Every script of `lua/`, by its file's name. */
const NAMES = [
  'admit',
  'strike',
  'give-back-strike',
  'take-shared',
  'release-slot',
  'renew-slot',
  'release-slots-of',
  'begin-idempotent',
  'keep-idempotent',
  'forget-idempotent',
  'lease',
  'end-lease',
  'schedule-due',
  'claim-due',
  'renew-due',
  'settle-due',
  'release-due-of',
] as const;

export type ScriptName = (typeof NAMES)[number];

/**
 * The scripts for ioredis, which sends their hash, and the whole script to a server that does not have it. Each call
 * passes its number of keys.
 */
export function loadScripts(): Record<string, { lua: string }> {
  return Object.fromEntries(
    NAMES.map((name) => [name, { lua: readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8') }]),
  );
}
