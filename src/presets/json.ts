/**
 * Whether two JSON values say the same; the order of keys says nothing. It goes down level by level without calling
 * itself: how deep a value is, its sender decides.
 */
export function isSameJson(one: unknown, other: unknown): boolean {
  const pairs: Array<[unknown, unknown]> = [[one, other]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [left, right] = pair;
    if (left === right) continue;
    if (!isParent(left) || !isParent(right) || Array.isArray(left) !== Array.isArray(right)) return false;
    const keys = Object.keys(left);
    if (keys.length !== Object.keys(right).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(right, key)) return false;
      pairs.push([left[key], right[key]]);
    }
  }
  return true;
}

/** A list or an object. */
function isParent(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
