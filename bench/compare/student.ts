/** Beyond this many degrees of freedom the distribution is the same for all purposes here. */
const MAX_DEGREES_OF_FREEDOM = 1_000;

/**
 * Two-sided p-value of Student's t for whole degrees of freedom, by the finite series of Abramowitz and Stegun,
 * 26.7.3 and 26.7.4.
 */
export function pValueOf(t: number, freedom: number): number {
  const degrees = Math.min(MAX_DEGREES_OF_FREEDOM, Math.max(1, Math.floor(freedom)));
  const angle = Math.atan(Math.abs(t) / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let power = isOdd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= ((power - 1) / power) * cosine ** 2;
    sum += term;
  }
  const inside = isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
  return Math.max(0, 1 - inside);
}

/** The t beyond which, on both sides together, a share of the distribution lies. */
export function quantileOf(share: number, freedom: number): number {
  let [low, high] = [0, 1];
  while (pValueOf(high, freedom) > share && high < 1e9) high *= 2;
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (pValueOf(middle, freedom) > share) low = middle;
    else high = middle;
  }
  return high;
}
