import type { Places } from '../mistake.ts';
import type { MendedBy, WireCall } from './mending.ts';

/**
 * A call as users of other services make it, and the part of the responses that corrects it; `nothing` if only
 * sentences do.
 */
export type ForeignCall = readonly [what: string, call: WireCall, by: MendedBy];

/** The assets that the calls use: two of the same size. The first one is the picture. */
export interface ForeignPlaces extends Places {
  other: string;
}
