/** A figure of a run: a number, text if it could not be measured, or null if the report does not contain it. */
export type Figure = number | string | null;

export interface CaseFigures {
  /** The name of the case, such as `overload · camera`. */
  name: string;
  /** The figure of each measure, such as `p99 ms`. */
  measures: Readonly<Record<string, Figure>>;
  /** The latency of each percentile, if it was measured. */
  curve?: readonly (readonly [share: number, ms: number])[];
}

/** The figures of a run. The form is the same for all kinds of reports. */
export interface RunFigures {
  cases: readonly CaseFigures[];
  /** Facts about the machine, the versions and the settings, by name. */
  environment: Readonly<Record<string, string>>;
  /** The report's own summary, in sentences. */
  sentences: readonly string[];
}

/** A part of a report. Any field may be missing, because reports of old releases have fewer fields. */
type ReportPart = Readonly<Record<string, unknown>>;

/**
 * The maximum numbers of facts and of curve points that are shown. The bench's own reports have about fifty facts and a
 * hundred points, but a file may contain any number.
 */
const MAX_FACTS = 300;
const MAX_POINTS = 2_000;
/** Matches the measures for which a lower value is better. For all others, a higher value is better. */
const LESS_IS_BETTER_PATTERN = / ms$|^CPU|^errors|MB$|^p\d/;

/** Whether a change of a measure is an improvement. */
export function isBetter(measure: string, before: number, after: number): boolean {
  return LESS_IS_BETTER_PATTERN.test(measure) ? after < before : after > before;
}

/**
 * Reads a report of any kind.
 * @throws TypeError for a file that is not a report.
 */
export function readFigures(report: unknown): RunFigures {
  const part = partOf(report);
  const environment = environmentOf(part);
  const sentences = sentencesOf(part);
  if (Array.isArray(part.stages))
    return { cases: casesOfStages(listOf(part.stages)), environment, sentences };
  if (Array.isArray(part.results))
    return { cases: listOf(part.results).map(caseOfCapacity), environment, sentences };
  if (Array.isArray(part.trials))
    return { cases: listOf(part.trials).flatMap(casesOfTrial), environment, sentences };
  if (Array.isArray(part.rows)) return { cases: listOf(part.rows).map(caseOfRow), environment, sentences };
  throw new TypeError('This file is not a report of bench or tune.');
}

function casesOfStages(stages: readonly ReportPart[]): CaseFigures[] {
  return stages.flatMap((stage) => {
    const cases = Object.entries(partOf(stage.cases));
    const right = cases.reduce((sum, [, one]) => sum + (numberOf(partOf(one).right) ?? 0), 0);
    const cpuMs = numberOf(stage.instanceCpuMs);
    const limit = textOf(partOf(stage.loader).limit);
    return cases.map(([name, given]): CaseFigures => {
      const one = partOf(given);
      const latency = partOf(one.latencyMs);
      const share = numberOf(one.errorShare);
      const figureOf = (value: unknown): Figure =>
        limit === null ? numberOf(value) : 'the loader was the limit';
      return {
        name: `${textOf(stage.name) ?? ''} · ${name}`,
        measures: {
          'right/s': figureOf(one.perSecond),
          'p50 ms': figureOf(latency.p50),
          'p99 ms': figureOf(latency.p99),
          'errors %': share === null ? null : share * 100,
          'CPU ms a right answer': cpuMs === null || right === 0 ? null : cpuMs / right,
          'p90 ms': figureOf(latency.p90),
          'p95 ms': figureOf(latency.p95),
          'p99.9 ms': figureOf(latency.p999),
        },
        ...(limit === null && { curve: curveOf(one.curve) }),
      };
    });
  });
}

function caseOfCapacity(result: ReportPart): CaseFigures {
  const best = partOf(result.best);
  return {
    name: textOf(result.case) ?? '',
    measures: {
      'right/s': numberOf(best.perSecond),
      'p50 ms': numberOf(best.p50),
      'p99 ms': numberOf(best.p99),
      'CPU ms a right answer': numberOf(best.cpuMs),
      'memory MB': numberOf(best.megabytes),
      more: result.isAtLeast === true ? 'may hold' : 'does not hold',
    },
  };
}

function casesOfTrial(trial: ReportPart): CaseFigures[] {
  const candidate = settingsText(partOf(trial.candidate));
  const ratioOf = (of: unknown) => numberOf(partOf(of).ratio);
  return [
    {
      name: candidate,
      measures: {
        goodness: ratioOf(trial.goodness),
        'CPU ratio': ratioOf(trial.cpu),
        rounds: numberOf(trial.rounds),
      },
    },
    ...listOf(trial.figures).map((one): CaseFigures => {
      const secondNumberOf = (pair: unknown) => (Array.isArray(pair) ? numberOf(pair[1]) : null);
      return {
        name: `${candidate} · ${textOf(one.stage) ?? ''} · ${textOf(one.case) ?? ''}`,
        measures: {
          'right/s': secondNumberOf(one.perSecond),
          'p50 ms': secondNumberOf(one.p50),
          'p99 ms': secondNumberOf(one.p99),
          'CPU ms a right answer': secondNumberOf(one.cpuMsPerCall),
        },
      };
    }),
  ];
}

/** Reads a row of a table. The name of the case consists of the texts before the first number of the row. */
function caseOfRow(row: ReportPart): CaseFigures {
  const fields = Object.entries(row).filter(([, value]) => typeof value !== 'object' || value === null);
  const first = fields.findIndex(([, value]) => typeof value === 'number' || value === null);
  const names = first <= 0 ? fields.slice(0, 1) : fields.slice(0, first);
  return {
    name: names.map(([, value]) => String(value)).join(' · '),
    measures: Object.fromEntries(
      fields.slice(names.length).map(([name, value]) => [name, numberOf(value) ?? textOf(value)]),
    ),
  };
}

function curveOf(curve: unknown): [number, number][] {
  if (!Array.isArray(curve)) return [];
  return curve.slice(0, MAX_POINTS).flatMap((point): [number, number][] => {
    const [share, ms] = Array.isArray(point) ? point.map(numberOf) : [];
    return share == null || ms == null ? [] : [[share, ms]];
  });
}

function environmentOf(report: ReportPart): Record<string, string> {
  const { host, instance, settings, sides, current, weights } = report;
  const groups: readonly (readonly [prefix: string, of: unknown])[] = [
    ['', host],
    ['instance ', partOf(instance).version === undefined ? {} : { version: partOf(instance).version }],
    ['', settings],
    ['side ', sides],
    ['set before: ', current],
    ['weight of ', weights],
    ['', { url: report.url, objective: report.objective, cores: report.cores, node: report.node }],
  ];
  const entries = groups.flatMap(([prefix, of]) =>
    Object.entries(partOf(of)).map(([name, value]) => [prefix + name, value] as const),
  );
  const pictures = Array.isArray(report.pictures) ? { pictures: report.pictures.map(String).join('; ') } : {};
  const known = entries.filter(
    ([, value]) => value !== undefined && value !== null && typeof value !== 'object',
  );
  const shown = known.slice(0, MAX_FACTS).map(([name, value]) => [name, String(value)] as const);
  return { ...Object.fromEntries(shown), ...pictures };
}

function sentencesOf(report: ReportPart): string[] {
  const { conclusion, reason, method, description } = report;
  const stopped =
    report.isStopped === true ? ['Stopped by hand: the figures are of the time until then.'] : [];
  return [
    ...[conclusion, reason].flatMap((text) => textOf(text) ?? []),
    ...stopped,
    ...sentencesWithPrefix('Threshold: ', report.brokenThresholds),
    ...sentencesWithPrefix('Missed: ', report.missed),
    ...[description, method].flatMap((text) => textOf(text) ?? []),
  ];
}

function sentencesWithPrefix(prefix: string, sentences: unknown): string[] {
  return Array.isArray(sentences) ? sentences.map((sentence) => prefix + String(sentence)) : [];
}

function settingsText(settings: ReportPart): string {
  const set = Object.entries(settings).map(([name, value]) => `${name}=${String(value)}`);
  return set.length === 0 ? 'the default' : set.join(' ');
}

function partOf(value: unknown): ReportPart {
  return typeof value === 'object' && value !== null ? (value as ReportPart) : {};
}

function listOf(value: unknown): readonly ReportPart[] {
  return Array.isArray(value) ? value.map(partOf) : [];
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
