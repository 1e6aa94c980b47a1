/** A completed job of one item, as the list of jobs shows it. Those with a higher index are older. */
export function jobRow(index: number) {
  const id = `job_${String(index).padStart(24, '0')}`;
  const counts = { totalItems: 1, completedItems: 1, failedItems: 0, cancelledItems: 0 };
  const createdAt = new Date(1_780_000_000_000 - index * 1_000).toISOString();
  const times = { createdAt, completedAt: createdAt, expiresAt: createdAt };
  const rest = { actualCredits: 0, attemptNumber: 1, rootJobId: id, outcome: 'all' };
  return {
    object: 'job',
    id,
    status: 'COMPLETED',
    type: 'process',
    op: 'resize',
    ...counts,
    ...times,
    ...rest,
  };
}
