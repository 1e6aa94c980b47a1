import { readFileSync } from 'node:fs';

/** Every script of `lua/`, by its file's name. Each works on exactly this many keys. */
const KEYS_OF = {
  admit: 4,
  strike: 1,
  'give-back-strike': 1,
  'release-slot': 1,
  'renew-slot': 1,
  'release-slots-of': 1,
  'begin-idempotent': 1,
  'keep-idempotent': 1,
  'forget-idempotent': 1,
  lease: 1,
  'end-lease': 1,
  'schedule-due': 3,
  'claim-due': 3,
  'renew-due': 3,
  'settle-due': 3,
  'release-due-of': 3,
} as const;

export type ScriptName = keyof typeof KEYS_OF;

/** The scripts as ioredis takes them: sent by their hash, and in full to a server that does not know them. */
export function loadScripts(): Record<string, { lua: string; numberOfKeys: number }> {
  return Object.fromEntries(
    Object.entries(KEYS_OF).map(([name, numberOfKeys]) => {
      const lua = readFileSync(new URL(`lua/${name}.lua`, import.meta.url), 'utf8');
      return [name, { lua, numberOfKeys }];
    }),
  );
}
