import type { ImagePass } from '../../../workers/protocol.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { passesPerFormat } from './formats.ts';
import type { ImageHeader } from './header/header.ts';
import type { BranchPass, PassOutcome } from './image-call.ts';

/** Runs a pass once for each format that its result may have, and picks the smallest file. */
export class FormatRuns {
  readonly #groups: readonly { pass: ImagePass; runs: BranchPass[] }[];

  /** @param header of the file; null if it is not an image. */
  constructor(branches: readonly BranchPass[], header: ImageHeader | null) {
    this.#groups = branches.map(({ pass, paramOf }) => ({
      pass,
      runs: passesPerFormat(pass, header).map((one) => ({ pass: one, paramOf })),
    }));
  }

  get runs(): BranchPass[] {
    return this.#groups.flatMap(({ runs }) => runs);
  }

  /** The result of each pass, chosen among the results of its formats. */
  smallest(outputs: readonly PassOutcome[]): PassOutcome[] {
    let end = 0;
    return this.#groups.map(({ pass, runs }) => {
      const start = end;
      end += runs.length;
      return smallestOutput(pass, outputs.slice(start, end));
    });
  }
}

/** The smallest file. If there is none, the error of the search that came nearest to its target, or any error. */
function smallestOutput({ encode: { target } }: ImagePass, outputs: readonly PassOutcome[]): PassOutcome {
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
