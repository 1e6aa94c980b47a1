const YOUNG_OPTION = '--max-semi-space-size';
/**
 * Largest size of each half of the young generation of a heap. A process has one heap for its main thread and one for
 * each image thread. By default a half grows to 32 MB; the process then takes 356 to 483 MB after 600 mixed calls
 * instead of 321 to 374, at equal CPU time (bench/FINDINGS.md).
 */
const YOUNG_MEGABYTES = 8;

/**
 * The V8 options of an API process and its threads.
 * @param nodeOptions NODE_OPTIONS of the operator, which take precedence.
 */
export function v8HeapOptions(nodeOptions: string): string[] {
  return nodeOptions.includes(YOUNG_OPTION) ? [] : [`${YOUNG_OPTION}=${YOUNG_MEGABYTES}`];
}
