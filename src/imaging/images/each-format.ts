import { passesOf } from '../../../workers/image/formats.ts';
import type { Pass } from '../../../workers/protocol.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import type { BranchPass, PassOutput } from './image-call.ts';

/** Passes that run once for each format that their results may have. */
interface FormatRuns {
  runs: BranchPass[];
  /** The result of each pass, by those of the runs. */
  smallest(outputs: readonly PassOutput[]): PassOutput[];
}

export function inEachFormat(branches: readonly BranchPass[]): FormatRuns {
  const groups = branches.map(({ pass, paramOf }) => ({
    pass,
    runs: passesOf(pass).map((one) => ({ pass: one, paramOf })),
  }));
  return {
    runs: groups.flatMap(({ runs }) => runs),
    smallest(outputs) {
      let end = 0;
      return groups.map(({ pass, runs }) => {
        const start = end;
        end += runs.length;
        return smallestOutput(pass, outputs.slice(start, end));
      });
    },
  };
}

/** The smallest file. Where there is none, the refusal of the search that came nearest to its target, or any. */
function smallestOutput({ encode: { target } }: Pass, outputs: readonly PassOutput[]): PassOutput {
  const files = outputs.flatMap((output) => (output instanceof ApiError ? [] : [output]));
  const [smallest] = files.toSorted((one, other) => one.data.length - other.data.length);
  if (smallest !== undefined) return smallest;
  const refusals = outputs.flatMap((output) => (output instanceof ApiError ? [output] : []));
  const reached = refusals.filter(({ details }) => typeof details?.reached === 'number');
  const sign = target !== undefined && 'maxBytes' in target ? 1 : -1;
  reached.sort((one, other) => sign * (Number(one.details?.reached) - Number(other.details?.reached)));
  const refusal = reached[0] ?? refusals[0];
  if (refusal === undefined) throw new Error('A pass has no result.');
  return refusal;
}
