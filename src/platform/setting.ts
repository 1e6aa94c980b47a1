import { isIP } from 'node:net';

/**
 * The declaration of a setting: its meaning and its values. A slice declares its settings in its config.ts.
 * config/index.ts collects them, reads the environment once and reports each violation in a sentence.
 */
export interface Setting<T> {
  /** One sentence for the operator, which settings.md contains. */
  description: string;
  /** The accepted values, as the end of the sentence "NAME is "value", but …". */
  accepts: string;
  /** The default as text, for settings.md. */
  defaultText: string;
  /** The value when the variable is unset or empty. */
  fallback: T;
  /** Parses the text; undefined when it is invalid. */
  parse: (text: string) => T | undefined;
  /** Whether the value is secret, and therefore never printed. */
  secret?: boolean;
}

export type SettingsOf<S extends Record<string, Setting<unknown>>> = {
  [Name in keyof S]: S[Name] extends Setting<infer T> ? T : never;
};

/** A setting that is a whole number between two bounds, both included. The name of the setting contains the unit. */
export function integerSetting(options: {
  description: string;
  fallback: number;
  min: number;
  max: number;
  defaultText?: string;
}): Setting<number> {
  return {
    description: options.description,
    accepts: `a whole number from ${options.min} to ${options.max} is expected`,
    defaultText: options.defaultText ?? String(options.fallback),
    fallback: options.fallback,
    parse(text) {
      const value = Number(text);
      return /^\d+$/.test(text) && value >= options.min && value <= options.max ? value : undefined;
    },
  };
}

interface TextSettingOptions {
  description: string;
  fallback?: string;
  pattern: RegExp;
  /** Describes the pattern. */
  accepts: string;
  defaultText?: string;
  secret?: boolean;
}

/** A setting that is text that matches a pattern. */
export function textSetting(options: TextSettingOptions): Setting<string> {
  const fallback = options.fallback ?? '';
  return {
    description: options.description,
    accepts: options.accepts,
    defaultText: options.defaultText ?? (fallback === '' ? 'none' : fallback),
    fallback,
    parse: (value) => (options.pattern.test(value) ? value : undefined),
    secret: options.secret ?? false,
  };
}

/** A setting that is a URL that matches a pattern. The pattern excludes the parts that the URL may not have. */
export function urlSetting(options: TextSettingOptions): Setting<string> {
  const { parse, ...setting } = textSetting(options);
  return { ...setting, parse: (value) => (URL.canParse(value) ? parse(value) : undefined) };
}

/** A setting that is a path. */
export function pathSetting(options: {
  description: string;
  fallback?: string;
  defaultText?: string;
}): Setting<string> {
  return textSetting({
    ...options,
    pattern: /^[^~\s](.*\S)?$/,
    accepts: 'a path without the ~ of a shell, and without spaces around it, is expected',
  });
}

/** A setting that is `true` or `false`. All other texts, such as `1` and `yes`, are refused. */
export function flagSetting(options: { description: string; fallback: boolean }): Setting<boolean> {
  return {
    description: options.description,
    accepts: 'true or false is expected',
    defaultText: String(options.fallback),
    fallback: options.fallback,
    parse: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  };
}

/** A setting that is one of a few words. */
export function choiceSetting<const T extends string>(options: {
  description: string;
  fallback: T;
  values: readonly T[];
}): Setting<T> {
  return {
    description: options.description,
    accepts: `one of ${options.values.join(', ')} is expected`,
    defaultText: options.fallback,
    fallback: options.fallback,
    parse: (value) => options.values.find((candidate) => candidate === value),
  };
}

/** A setting that is a list of comma-separated values. `parseOne` checks each value. */
export function listSetting<T>(options: {
  description: string;
  accepts: string;
  parseOne: (text: string) => T | undefined;
}): Setting<readonly T[]> {
  return {
    description: options.description,
    accepts: options.accepts,
    defaultText: 'none',
    fallback: [],
    parse(value) {
      const parsed = value.split(',').map((part) => options.parseOne(part.trim()));
      return parsed.some((one) => one === undefined) ? undefined : (parsed as T[]);
    },
  };
}

/** Whether a text is a network as a CIDR, such as `10.0.0.0/8`. */
export function isSubnet(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const version = isIP(address);
  const longestPrefix = version === 4 ? 32 : 128;
  return version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= longestPrefix;
}

/** The environment breaks at least one rule; `violations` has one sentence each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly violations: readonly string[];
  constructor(violations: readonly string[]) {
    super(violations.join('\n'));
    this.violations = violations;
  }
}
