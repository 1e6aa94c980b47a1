/**
 * In the place of the package by which tap finds the test of an error that nobody caught. It follows every promise of
 * the process, which takes a tenth of the CPU; `together.ts` gives such an error to the file that runs.
 */
export class Domain {
  destroy(): void {}
}
