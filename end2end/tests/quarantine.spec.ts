// A job that keeps failing: parked with its reason, taken out by a person, and told in order afterwards.
import { TENANT, expect, test } from '../support/test';
import { JobPage, expectSameDocument, mark, signIn } from '../support/pages';
import type { Page } from '@playwright/test';

// Independent of what the installation's default is.
const environment = { JOBS_QUARANTINE_THRESHOLD: '3' };

/** Fails this often before it succeeds. */
async function enqueueFlaky(page: Page, url: string, failures: number): Promise<JobPage> {
  await page.goto(`${url}/t/${TENANT.slug}/jobs/new?definition=demo-flaky`);
  await page.locator('form.new-job').getByLabel('Failing attempts').fill(String(failures));
  await page.getByRole('button', { name: 'Run job' }).click();
  await expect(page).toHaveURL(/\/jobs\/\d+$/);
  return new JobPage(page);
}

async function requeue(page: Page, reason: string): Promise<void> {
  await page.locator('summary', { hasText: 'Requeue…' }).click();
  await page.locator('#requeue').getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: 'Requeue this job' }).click();
}

function timeline(page: Page): Promise<string[]> {
  return page.locator('.timeline .step-title').allTextContents();
}

test('a parked job says why, is requeued, and its page tells the whole story', async ({ people: _, serve, page }) => {
  test.slow();
  const server = await serve({ environment });
  await signIn(page, server.url);
  const job = await enqueueFlaky(page, server.url, 3);
  const message = page.locator('main').getByText(/Job #\d+ was queued/);
  await expect(message).toBeVisible();
  await mark(page);
  await job.shows(/quarantined/i, 60_000);
  // The message spoke of a state that is over.
  await expect(message).toHaveCount(0);
  await expectSameDocument(page);
  await expect(page.getByTestId('ending')).toContainText('3 times in a row');
  await expect(page.getByTestId('ending')).toContainText('requeue it: it gets 5 new attempts');

  await requeue(page, 'the source is back');
  await job.shows(/completed/i, 60_000);
  await page.reload();
  expect(await timeline(page)).toEqual([
    expect.stringMatching(/^Queued by /),
    'Attempt 1 failed',
    'Waited to retry',
    'Attempt 2 failed',
    'Waited to retry',
    'Attempt 3 failed',
    'Quarantined',
    expect.stringMatching(/^Requeued by /),
    'Attempt 4 succeeded',
    'Completed',
  ]);
  await expect(page.locator('.timeline')).toContainText('the source is back');
  await expect(page.getByText('4 in all; 1 of 5 used since it was requeued')).toBeVisible();

  // Who ran it stays in the table.
  await page.setViewportSize({ width: 1500, height: 900 });
  await page.goto(`${server.url}/t/${TENANT.slug}/jobs`);
  const row = page.getByRole('row').filter({ hasText: 'demo-flaky' });
  await expect(row.locator('.worker-cell')).not.toHaveText('—');
  await expect(row).toContainText('1/5');
});

test('a job without attempts left says so, and is retried as a new job', async ({ people: _, serve, page }) => {
  test.slow();
  const server = await serve({ environment: { JOBS_QUARANTINE_THRESHOLD: '0' } });
  await signIn(page, server.url);
  const job = await enqueueFlaky(page, server.url, 10);
  await job.shows(/dead letter/i, 90_000);
  await expect(page.getByTestId('ending')).toContainText('All 5 attempts failed');
  await expect(page.getByTestId('ending')).toContainText('starts a new job');
  const first = job.number;
  await page.getByRole('button', { name: 'Retry' }).click();
  await expect(page.locator('main').getByText(`was queued as a retry of #${first}`)).toBeVisible();
});

test.describe('without script', () => {
  test.use({ javaScriptEnabled: false });

  test('a payload is downloaded whole, also when the page shows only a part', async ({ people: _, serve, page }) => {
    const server = await serve();
    await signIn(page, server.url);
    const markdown = `# Long\n\n${'words and more words, '.repeat(500)}the end`;
    await page.goto(`${server.url}/t/${TENANT.slug}/jobs/new?definition=decks.convert`);
    await page.locator('form.new-job').getByLabel('Markdown').fill(markdown);
    await page.getByRole('button', { name: 'Run job' }).click();
    await expect(page.getByText('This is only a part of it.')).toBeVisible();
    const link = page.getByRole('link', { name: 'Download the payload as JSON' });
    const answer = await page.request.get(server.url + ((await link.getAttribute('href')) ?? ''));
    expect(answer.headers()['content-disposition']).toContain('attachment');
    const payload = (await answer.json()) as { markdown: string };
    expect(payload.markdown.endsWith('the end')).toBe(true);
    expect(payload.markdown.replaceAll('\r\n', '\n').length).toBe(markdown.length);
  });
});
