/** The facts that determine where a list of steps is divided. */
interface Cuttable {
  kind: 'deterministic' | 'ai';
}

/** Adjacent deterministic steps form one process pass; each AI step is a segment of its own. */
export function segmentsOf<S extends Cuttable>(steps: readonly S[]): S[][] {
  const segments: S[][] = [];
  for (const step of steps) {
    const open = segments.at(-1);
    if (step.kind === 'deterministic' && open?.[0]?.kind === 'deterministic') open.push(step);
    else segments.push([step]);
  }
  return segments;
}
