import { existsSync } from 'node:fs';
import { operatorSettings } from '../src/host/operator/config.ts';
import { processesSettings } from '../src/host/processes/config.ts';
import { imagesSettings } from '../src/imaging/images/config.ts';
import { rendersSettings } from '../src/imaging/renders/config.ts';
import { httpSettings } from '../src/platform/http/config.ts';
import { nearestName } from '../src/platform/ids/nearest.ts';
import { mailSettings } from '../src/platform/mail.ts';
import { outboundSettings } from '../src/platform/outbound/config.ts';
import { type Setting, SettingsError, type SettingsOf } from '../src/platform/setting.ts';
import { storesSettings } from '../src/platform/stores/config.ts';
import { accountsSettings } from '../src/product/accounts/config.ts';
import { billingSettings } from '../src/product/billing/config.ts';
import { deliverySettings } from '../src/product/delivery/config.ts';
import { jobsSettings } from '../src/product/jobs/config.ts';
import { providersSettings } from '../src/product/providers/config.ts';
import { webhooksSettings } from '../src/product/webhooks/config.ts';
import { DEFAULT_ENV_FILE, type EnvFile, envFile, readEnvFile } from './env-file.ts';

/** Every setting of the service, by the slice that owns it. settings.md is printed from this table. */
export const SETTINGS = {
  http: httpSettings,
  processes: processesSettings,
  stores: storesSettings,
  accounts: accountsSettings,
  billing: billingSettings,
  jobs: jobsSettings,
  delivery: deliverySettings,
  images: imagesSettings,
  renders: rendersSettings,
  outbound: outboundSettings,
  webhooks: webhooksSettings,
  mail: mailSettings,
  providers: providersSettings,
  operator: operatorSettings,
} as const satisfies Record<string, Record<string, Setting<unknown>>>;

export type Settings = { readonly [Slice in keyof typeof SETTINGS]: SettingsOf<(typeof SETTINGS)[Slice]> };

/** The names of all settings. */
export const SETTING_NAMES = Object.values(SETTINGS).flatMap((table) => Object.keys(table));

/**
 * Reads the settings file, if it exists, into the environment, which takes precedence.
 * @returns a sentence for each thing in it that is probably not meant, and for a file that is named and missing.
 * @throws SettingsError with a sentence for each fault of the file, such as a misspelt name.
 */
export function loadSettingsFile(path = envFile()): readonly string[] {
  if (!existsSync(path)) {
    if (path === DEFAULT_ENV_FILE && !process.env.ENV_FILE) return [];
    return [`There is no file ${path}, which ENV_FILE names: settings are read from the environment alone.`];
  }
  const { settings, warnings } = readEnvFile(path, SETTING_NAMES);
  for (const [name, value] of Object.entries(settings)) process.env[name] ??= value;
  return warnings;
}

/**
 * Reads the settings of another deployment from a file, and none from the environment.
 * @throws SettingsError with a sentence for each fault of the file.
 */
export function readSettingsFrom(path: string): {
  settings: Settings;
  environment: EnvFile['settings'];
  warnings: readonly string[];
} {
  const { settings: environment, warnings } = readEnvFile(path, SETTING_NAMES);
  return { settings: readSettings(environment), environment, warnings };
}

/**
 * The names of the settings that the next start will take otherwise than this process has them.
 * @param environment the environment without the settings file.
 * @throws SettingsError if the next start would fail.
 */
export function pendingSettings(environment: NodeJS.ProcessEnv, path = envFile()): string[] {
  const ofFile = existsSync(path) ? readEnvFile(path, SETTING_NAMES).settings : {};
  const next = { ...ofFile, ...environment };
  readSettings(next);
  return SETTING_NAMES.filter((name) => (next[name] ?? '') !== (process.env[name] ?? ''));
}

/** A name of this many letters or fewer is too short to be taken for a misspelt setting. */
const MAX_SHORT_NAME_CHARACTERS = 5;
/** One wrong letter among this many counts as a misspelling; fewer would match variables of other programs. */
const LETTERS_PER_SLIP = 5;

/**
 * A sentence for each variable whose name is a misspelt setting. These are warnings, because the variable may belong to
 * another program, such as MONGODB_URI.
 */
export function misspeltSettings(environment: Record<string, string | undefined>): string[] {
  return Object.keys(environment).flatMap((name) => {
    if (
      name.length <= MAX_SHORT_NAME_CHARACTERS ||
      !/^[A-Z][A-Z0-9_]*$/.test(name) ||
      SETTING_NAMES.includes(name)
    )
      return [];
    const meant = nearestName(name, SETTING_NAMES, LETTERS_PER_SLIP);
    return meant === undefined
      ? []
      : [`There is no setting ${name}, which the environment sets. Did you mean ${meant}?`];
  });
}

/**
 * Reads the environment once. An unset or empty variable takes its default.
 * @throws SettingsError that lists every violation, not only the first.
 */
export function readSettings(environment: Record<string, string | undefined>): Settings {
  const violations: string[] = [];
  const settings: Record<string, Record<string, unknown>> = {};
  for (const [slice, table] of Object.entries(SETTINGS)) {
    const values: Record<string, unknown> = {};
    for (const [name, setting] of Object.entries<Setting<unknown>>(table)) {
      const given = environment[name];
      const value = given === undefined || given === '' ? setting.fallback : setting.parse(given);
      if (value === undefined) violations.push(violationOf(name, given ?? '', setting));
      values[name] = value;
    }
    settings[slice] = values;
  }
  violations.push(...telemetryViolations(environment));
  const read = settings as unknown as Settings;
  if (violations.length === 0) violations.push(...crossViolations(read));
  if (violations.length > 0) throw new SettingsError(violations);
  return read;
}

function violationOf(name: string, given: string, setting: Setting<unknown>): string {
  return setting.secret
    ? `${name} is not acceptable: ${setting.accepts}.`
    : `${name} is ${JSON.stringify(given)}, but ${setting.accepts}.`;
}

/** The violations of OpenTelemetry's own settings. Its libraries send nothing to a wrong address, without a word. */
function telemetryViolations(environment: Record<string, string | undefined>): string[] {
  return ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'].flatMap((name) => {
    const given = environment[name];
    if (!given || (/^https?:/i.test(given) && URL.canParse(given))) return [];
    return [`${name} is ${JSON.stringify(given)}, but an address such as http://127.0.0.1:4318 is expected.`];
  });
}

/** Violations of rules that involve several settings. */
function crossViolations({ stores, http }: Settings): string[] {
  const violations: string[] = [];
  if ((stores.MONGODB_URL === '') !== (stores.REDIS_URL === '')) {
    const [set, missing] =
      stores.REDIS_URL === '' ? ['MONGODB_URL', 'REDIS_URL'] : ['REDIS_URL', 'MONGODB_URL'];
    violations.push(
      `${set} is set but ${missing} is not: set both for a cluster, or neither for the embedded stores.`,
    );
  }
  if (http.METRICS_PORT !== 0 && http.METRICS_PORT === http.PORT) {
    violations.push(
      `METRICS_PORT and PORT are both ${http.PORT}: give METRICS_PORT another port, or leave it out to serve /metrics beside the API.`,
    );
  }
  if (stores.S3_BUCKET === '' && stores.S3_ENDPOINT !== '') {
    violations.push(
      'S3_ENDPOINT is set but S3_BUCKET is not: name the bucket, or unset S3_ENDPOINT to keep objects as files.',
    );
  }
  return violations;
}
