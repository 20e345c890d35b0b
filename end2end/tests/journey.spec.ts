// The whole way, from an empty database to a finished job, with script.
import { TENANT, expect, test } from '../support/test';
import { JobPage, SetupPage, enqueueImport, expectLive, expectSameDocument, mark, signIn } from '../support/pages';

test('the first visitor sets Leasehold up, runs a job and sees it finish without a reload', async ({ serve, page }) => {
  const server = await serve();
  await page.goto(await server.setupLink());
  const setup = new SetupPage(page);
  await setup.fill();
  await setup.submit();
  await expect(page).toHaveURL(`${server.url}/t/${TENANT.slug}`);
  await expect(page.getByText(/welcome/i)).toBeVisible();

  const job = await enqueueImport(page, server.url, { seconds: 12, rows: 400 });
  await expectLive(page);
  await mark(page);
  await job.shows(/running/i);
  const lines = job.logs.first().locator('.log-line');
  await expect(lines.first()).toBeVisible();
  const linesEarly = await lines.count();
  const percentEarly = await job.percent();
  expect(percentEarly).toBeLessThan(100);
  await expect.poll(() => job.percent(), { intervals: [100] }).toBeGreaterThan(percentEarly);
  await job.shows(/completed/i);
  expect(await job.percent()).toBe(100);
  expect(await lines.count()).toBeGreaterThan(linesEarly);
  await expect(page.locator('main')).toContainText('checksum');
  await expectSameDocument(page);
});

test('signing out ends the session, signing in again comes back to the page that was asked for', async ({
  people: _,
  serve,
  page,
}) => {
  const server = await serve();
  await signIn(page, server.url);
  await page.locator('.sidebar .user-menu summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page).toHaveURL(/\/login/);
  await page.goto(`${server.url}/t/${TENANT.slug}/jobs`);
  await expect(page).toHaveURL(/\/login\?next=/);
  await signIn(page, server.url);
});

test('a running job is cancelled, and the page says so without a reload', async ({ people: _, serve, page, visit }) => {
  const server = await serve();
  await signIn(page, server.url);
  const job = await enqueueImport(page, server.url, { seconds: 60, rows: 1_000 });
  await job.shows(/running/i);

  const watching = await visit();
  await signIn(watching, server.url);
  await watching.goto(page.url());
  await expectLive(watching);
  await mark(watching);

  await job.cancel('not needed any more');
  await job.shows(/cancelled/i);
  await expect(page.locator('main')).toContainText('not needed any more');
  await new JobPage(watching).shows(/cancelled/i);
  await expectSameDocument(watching);
});

test('a failed job is retried by hand as a new job', async ({ people: _, serve, page }) => {
  const server = await serve();
  await signIn(page, server.url);
  const job = await enqueueImport(page, server.url, { seconds: 60 });
  await job.shows(/running/i);
  await job.cancel('to be tried again');
  await job.shows(/cancelled/i);
  const first = job.number;
  await page.getByRole('button', { name: 'Retry' }).click();
  await expect(page).not.toHaveURL(new RegExp(`/jobs/${first}$`));
  await expect(page.locator('main')).toContainText(`#${first}`);
});

test('the overview and the jobs table follow a job that somebody else enqueues', async ({
  people: _,
  serve,
  page,
  visit,
}) => {
  const server = await serve();
  await signIn(page, server.url);
  const overview = await visit();
  await signIn(overview, server.url);
  await expectLive(overview);
  await mark(overview);
  const table = await visit();
  await signIn(table, server.url);
  await table.goto(`${server.url}/t/${TENANT.slug}/jobs`);
  await expectLive(table);
  await mark(table);

  const job = await enqueueImport(page, server.url, { seconds: 4 });
  await expect(overview.getByRole('link', { name: `#${job.number} demo-import` })).toBeVisible();
  // New jobs do not push the rows a reader looks at; a note offers them.
  await table.getByRole('link', { name: '1 new job' }).click();
  const row = table.getByRole('row').filter({ hasText: 'demo-import' }).first();
  await expect(row).toContainText(/running|completed/i);
  await expect(row).toContainText(/completed/i, { timeout: 30_000 });
  await expect(overview.getByText('Nothing is running.')).toBeVisible();
  await expectSameDocument(overview);
});
