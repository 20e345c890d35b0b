// Two dashboards and one worker on one Postgres: whoever asks, somebody works, and everybody sees it.
import { expect, test } from '../support/test';
import { JobPage, enqueueImport, expectLive, expectSameDocument, mark, signIn } from '../support/pages';

test('a job enqueued in one dashboard runs elsewhere and its progress arrives live in both', async ({
  people: _,
  serve,
  work,
  page,
  visit,
}) => {
  const first = await serve({ arguments: ['--workers', '0'] });
  const second = await serve({ arguments: ['--workers', '0'] });
  await signIn(page, first.url);
  const job = await enqueueImport(page, first.url, { seconds: 12, rows: 300 });
  await expectLive(page);
  await mark(page);

  const other = await visit();
  await signIn(other, second.url);
  await other.goto(page.url().replace(first.url, second.url));
  await expectLive(other);
  await mark(other);
  const mirrored = new JobPage(other);
  await mirrored.shows(/queued/i);

  await work();
  for (const view of [job, mirrored]) {
    await view.shows(/running/i);
    await expect.poll(() => view.percent()).toBeGreaterThan(5);
    await expect(view.logs.first().locator('.log-line').first()).toBeVisible();
  }
  for (const view of [job, mirrored]) {
    await view.shows(/completed/i);
    await expectSameDocument(view.page);
  }
});
