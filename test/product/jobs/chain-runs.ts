import type { Answer } from '../../support/harness.ts';

/** A step of a random chain, with the results that a test knows in advance. */
export interface KnownStep {
  body: { op: string; prompt?: string; parameters?: object; model?: string };
  /** Credits of an item for it; 0 for a deterministic one. */
  credits: number;
  /** Items that are rejected in it, by their index in the job. */
  rejects: readonly number[];
}

/** Segments as a reader of the interface counts them: adjacent deterministic steps are one. */
export function segmentsOf(steps: readonly KnownStep[]): KnownStep[][] {
  return steps.reduce<KnownStep[][]>((segments, step) => {
    const open = segments.at(-1);
    if (step.credits === 0 && open?.[0]?.credits === 0) open.push(step);
    else segments.push([step]);
    return segments;
  }, []);
}

/** The segment in which an item fails by the directives in its prompts; undefined when it completes. */
export function failsAt(segments: readonly KnownStep[][], item: number, from: number): number | undefined {
  const index = segments.findIndex(([step], index) => index >= from && step?.rejects.includes(item));
  return index === -1 ? undefined : index;
}

/** Credits of an item for the segments that it finished, from the first one that it ran. */
export function owed(segments: readonly KnownStep[][], from: number, until: number | undefined): number {
  return segments.slice(from, until).reduce((sum, [step]) => sum + (step?.credits ?? 0), 0);
}

/** Numbers that are the same for the same seed (xorshift32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0 || 1;
  const next = (below: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  // The first numbers of neighbouring seeds are much alike.
  for (let warmUp = 0; warmUp < 20; warmUp++) next(1);
  return next;
}

/** A chain of two to four steps, each model of it with its own directives for some of the items. */
export function randomSteps(random: (below: number) => number, items: number): KnownStep[] {
  const rejects = () => (random(3) === 0 ? [random(items)] : []);
  const directives = (rejected: readonly number[]) =>
    [
      ...rejected.map((item) => `[sandbox:reject@${item}]`),
      ...(random(4) === 0 ? ['[sandbox:fail=1]'] : []),
    ].join(' ');
  const ai = (op: string, credits: number, parameters?: object): KnownStep => {
    const rejected = rejects();
    const prompt = `Do it ${directives(rejected)}`;
    return { body: { op, prompt, ...(parameters && { parameters }) }, credits, rejects: rejected };
  };
  const pass = (op: string, parameters?: object): KnownStep => ({
    body: { op, ...(parameters && { parameters }) },
    credits: 0,
    rejects: [],
  });
  const first = [
    () => pass('resize', { width: 16 }),
    () => ai('remove_background', 12),
    () => ai('edit', 12),
  ];
  const middle = [
    () => pass('grayscale'),
    () => ai('upscale', 12, { scale: 2 }),
    () => ai('expand', 12, { left: 2 }),
  ];
  const last = [() => pass('convert', { format: 'webp' }), () => ai('analyze', 2), () => ai('edit', 12)];
  const pick = (choices: (() => KnownStep)[]) => (choices[random(choices.length)] as () => KnownStep)();
  const steps = [pick(first), ...Array.from({ length: random(3) }, () => pick(middle)), pick(last)];
  return segmentsOf(steps).length > 1 ? steps : [...steps, ai('edit', 12)];
}

/** Credits of a job in the ledger: charged in total, and still held. */
export function ledgerOf(rows: Answer['json'][], jobId: string): { charged: number; held: number } {
  const own = rows.filter((row) => row.jobId === jobId);
  const sum = (type: string, field: string) =>
    own.filter((row) => row.type === type).reduce((total, row) => total + (row[field] ?? 0), 0);
  return {
    charged: -sum('charge', 'credits'),
    held: sum('hold', 'held') - sum('release', 'held') + sum('charge', 'credits'),
  };
}
