// A database of its own for each test, so that tests cannot see each other.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';

export type Dialect = 'sqlite' | 'postgres';

export type Database = { url: string; remove: () => Promise<void> };

export const freshDatabase = (dialect: Dialect): Promise<Database> =>
  dialect === 'sqlite' ? freshSqlite() : freshPostgres();

async function freshSqlite(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-end2end-'));
  return {
    url: `sqlite:${join(folder, 'leasehold.db')}`,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function freshPostgres(): Promise<Database> {
  const dsn = process.env.POSTGRES_TEST_DSN;
  if (!dsn) throw new Error('POSTGRES_TEST_DSN is not set: run through `cargo xtask end2end`');
  const name = `end2end_${randomUUID().replaceAll('-', '')}`;
  await inCluster(dsn, `CREATE DATABASE ${name}`);
  const url = new URL(dsn);
  url.pathname = `/${name}`;
  return { url: url.href, remove: () => inCluster(dsn, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function inCluster(dsn: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: dsn });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
