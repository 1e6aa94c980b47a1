const YOUNG_OPTION = '--max-semi-space-size';
/**
 * Largest size of each half of the young generation of a heap. A process has its own heap for its thread and for each
 * image thread. By default a half grows to 32 MB, and the process then has 356 to 483 MB after 600 mixed calls instead
 * of 321 to 374, at equal CPU time (bench/FINDINGS.md).
 */
const YOUNG_MEGABYTES = 8;

/**
 * The options of V8 for an API process, whose threads share them.
 * @param nodeOptions NODE_OPTIONS of the operator, which takes precedence.
 */
export function heapOptions(nodeOptions: string): string[] {
  return nodeOptions.includes(YOUNG_OPTION) ? [] : [`${YOUNG_OPTION}=${YOUNG_MEGABYTES}`];
}
