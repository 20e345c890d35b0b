// The same journey for a browser that runs no script: everything is a link or a form.
import { TENANT, expect, test } from '../support/test';
import { JobPage, SetupPage, enqueueImport } from '../support/pages';

test.use({ javaScriptEnabled: false });

/** Without script a page is as of now; its reader loads it again. */
async function reloadUntil(job: JobPage, state: RegExp): Promise<void> {
  await expect(async () => {
    await job.page.reload();
    await expect(job.badge).toHaveText(state, { timeout: 500 });
  }).toPass({ timeout: 30_000 });
}

test('set up, enqueue, watch by reloading, completed', async ({ serve, page }) => {
  const server = await serve();
  await page.goto(await server.setupLink());
  const setup = new SetupPage(page);
  await setup.fill();
  await setup.submit();
  await expect(page).toHaveURL(`${server.url}/t/${TENANT.slug}`);

  const job = await enqueueImport(page, server.url, { seconds: 2, rows: 100 });
  await reloadUntil(job, /completed/i);
  await expect(job.logs.first()).toContainText(/\d/);
  await expect(page.locator('main')).toContainText('checksum');
  await page.getByRole('link', { name: 'Jobs' }).first().click();
  await expect(page.getByRole('row').filter({ hasText: 'demo-import' })).toContainText(/completed/i);
});

test('cancel a running job, then sign out', async ({ serve, page }) => {
  const server = await serve();
  await page.goto(await server.setupLink());
  const setup = new SetupPage(page);
  await setup.fill();
  await setup.submit();
  const job = await enqueueImport(page, server.url, { seconds: 60 });
  await reloadUntil(job, /running/i);
  await job.cancel('changed my mind');
  await reloadUntil(job, /cancelled/i);
  await expect(page.locator('main')).toContainText('changed my mind');
  await page.locator('.sidebar .user-menu summary').click();
  await page.getByRole('button', { name: /sign out/i }).click();
  await expect(page).toHaveURL(/\/login/);
});
