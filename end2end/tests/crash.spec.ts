// The promise behind the name: a job outlives the process that ran it.
import { expect, test } from '../support/test';
import { enqueueImport, signIn } from '../support/pages';

test('kill -9 in the middle of a job: a later attempt finishes it, the page shows both', async ({
  people: _,
  serve,
  page,
  complaints,
}) => {
  test.slow();
  // The page notices that its server is gone; that is the point.
  complaints.allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/);
  const server = await serve({ environment: { JOBS_LEASE_SECONDS: '3' } });
  await signIn(page, server.url);
  const job = await enqueueImport(page, server.url, { seconds: 12, rows: 300 });
  await job.shows(/running/i);
  await expect.poll(() => job.percent()).toBeGreaterThan(5);

  await server.kill();
  await expect(page.getByRole('status').filter({ hasText: /reconnecting|stale/i }).first()).toBeVisible();
  await server.start();

  // The page finds the server again by itself and shows the end.
  await job.shows(/completed/i, 90_000);
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Attempt 1' })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Attempt 2' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Attempt 1' })).toContainText(/lost/i);
});
