import type { Places } from '../mistake.ts';
import type { MendedBy, WireCall } from './mending.ts';

/** A call as users of other services make it, and what of the answers mends it; `nothing` if only sentences do. */
export type ForeignCall = readonly [what: string, call: WireCall, by: MendedBy];

/** What the calls are about: two assets of one size, the first of which is the picture. */
export interface ForeignPlaces extends Places {
  other: string;
}
