// Serves the Console of the npm package on loopback. Its records are in an embedded Postgres below DATA, so they
// survive the process. Tenants and tokens come from CONSOLE_* in the environment, as for any hosted Console.
//
//     node serve.mjs PACKAGES DATA PORT
import { createRequire } from "node:module";
import { join } from "node:path";

const [packages, data, port] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
const { PGlite } = require("@electric-sql/pglite");
// Not exported by the package, so by its place in it.
const foundation = "./node_modules/@kontourai/console/console-server/dist/src/console-foundation";
const { createConsoleHubServer } = require(`${foundation}/console-hub-server.js`);
const { applyConsoleMigrations } = require(`${foundation}/migrations.js`);

const database = await PGlite.create(join(data, "postgres"));

// What the Console expects of a client of node-postgres. Only statements without values may be several at once.
const telemetrySqlClient = {
  async query(text, values) {
    const result = values ? await database.query(text, values) : (await database.exec(text)).at(-1);
    const rows = result?.rows ?? [];
    return { rows, rowCount: rows.length || result?.affectedRows || 0 };
  },
};

await applyConsoleMigrations(telemetrySqlClient);
createConsoleHubServer({
  rootDir: data,
  kontourRoot: join(data, "kontour"),
  host: "127.0.0.1",
  port: Number(port),
  telemetrySqlClient,
}).listen({}, () => {});
