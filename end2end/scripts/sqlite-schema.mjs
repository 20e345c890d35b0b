// Makes an empty SQLite database with the schema of the given migrations, for `cargo xtask prepare-queries`.
// node sqlite-schema.mjs DATABASE MIGRATION…
import { readFileSync, writeFileSync } from 'node:fs';
import initSqlJs from 'sql.js';

const [target, ...migrations] = process.argv.slice(2);
const { Database } = await initSqlJs();
const database = new Database();
for (const file of migrations) {
  try {
    database.run(readFileSync(file, 'utf8'));
  } catch (error) {
    console.error(`${file}: ${error.message}`);
    process.exit(1);
  }
}
writeFileSync(target, database.export());
