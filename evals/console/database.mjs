// The Console's database: a Postgres embedded in a process of its own, so that it can be killed without the Console.
// A parent forks it and sends { id, text, values }; the answer is { id, rows, rowCount } or { id, error }.
//
//     fork("database.mjs", [PACKAGES, DATA], { serialization: "advanced" })
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, data] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
const { PGlite } = require("@electric-sql/pglite");

// The data is for one process: one whose Console was killed makes way for the next.
process.on("disconnect", () => process.exit());
const database = await PGlite.create(join(data, "postgres"));

process.on("message", async ({ id, text, values }) => {
  try {
    // Only statements without values may be several at once.
    const result = values ? await database.query(text, values) : (await database.exec(text)).at(-1);
    const rows = result?.rows ?? [];
    process.send({ id, rows, rowCount: rows.length || result?.affectedRows || 0 });
  } catch (error) {
    process.send({ id, error: { message: error.message, code: error.code } });
  }
});
process.send({ id: 0 });
