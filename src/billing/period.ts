import type { BillingStore } from './store.ts';

/** `YYYY-MM`: the billing period of an instant, which is the calendar month in UTC. */
export function periodOf(instant: Date): string {
  return instant.toISOString().slice(0, 7);
}

/** First instant of the period and of the next one. */
export function boundsOf(period: string): { start: Date; end: Date } {
  const start = new Date(`${period}-01T00:00:00.000Z`);
  const end = new Date(start);
  end.setUTCMonth(end.getUTCMonth() + 1);
  return { start, end };
}

/** Begins an account's count anew when its period is over; false when it was begun already. */
export async function turnPeriod(
  { money }: BillingStore,
  accountId: string,
  period: string,
): Promise<boolean> {
  const { modified } = await money.updateOne(
    { _id: accountId, 'processing.period': { $lt: period } },
    { $set: { 'processing.period': period, 'processing.used': 0 } },
  );
  return modified === 1;
}
