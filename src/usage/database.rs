//! A host's SQLite database, read without leaving a trace: nothing is written in the host's folder, not even the `-shm`
//! or `-wal` that SQLite would create there.
//!
//! ```text
//! no write-ahead log, or an empty one     immutable: no lock, no file beside it
//! a rollback journal                      read-only, with a lock: pages may hold what is not committed
//! a log, and its index (`-shm`)           read-only, the index too: what a live host has committed is seen
//! a log without an index                  a private copy of both, where SQLite may build one
//! ```
//!
//! All that is read through one [`Database`] is of one moment: a host that writes meanwhile is not seen. Where nothing is
//! locked, only [`Database::is_undisturbed`] tells whether that holds.
//!
//! The third never writes the index: with `readonly_shm` SQLite uses the marks that are there, or builds an index of its
//! own in memory (SQLite 3.22, walBeginShmUnreliable).

use crate::journal::foreign::MAX_COUNT;
use crate::sys::files;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, ToSql};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long a lock of the host is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A database that has to be copied may be this large.
const MAX_COPY: u64 = 1 << 30;
/// And this large, while somebody waits.
const MAX_PROMPT_COPY: u64 = 64 << 20;

/// A database, open.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    /// The state of the file that is read without a lock.
    unlocked: Option<(PathBuf, State)>,
    /// Removed after the connection is closed.
    _copy: Option<Scratch>,
}

/// Opens the database at `path`.
///
/// # Errors
/// When it cannot be read, or is no SQLite database.
pub fn open(path: &Path) -> io::Result<Database> {
    open_within(path, MAX_COPY)
}

/// Opens the database at `path` for somebody who waits: a large one is not copied.
///
/// # Errors
/// When it cannot be read so, or is no SQLite database.
pub fn open_promptly(path: &Path) -> io::Result<Database> {
    open_within(path, MAX_PROMPT_COPY)
}

fn open_within(path: &Path, max_copy: u64) -> io::Result<Database> {
    // Refuses what is no regular file before SQLite waits for it.
    files::open_regular(path)?;
    let before = State::of(path)?;
    let log = before.2;
    let is_changing = beside(path, "-journal").metadata().is_ok_and(|journal| journal.len() > 0);
    if log == 0 && is_changing {
        let connection = connect(&uri(path, "mode=ro"))?;
        return Ok(Database { connection, unlocked: None, _copy: None });
    }
    if log == 0 {
        let unlocked = Some((path.to_path_buf(), before));
        return connect(&uri(path, "mode=ro&immutable=1")).map(|connection| Database {
            connection,
            unlocked,
            _copy: None,
        });
    }
    if beside(path, "-shm").is_file()
        && let Ok(connection) = connect(&uri(path, "mode=ro&readonly_shm=1"))
    {
        return Ok(Database { connection, unlocked: None, _copy: None });
    }
    if path.metadata()?.len().saturating_add(log) > max_copy {
        let why = "its write-ahead log has no index, and the database is too large to copy";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let scratch = Scratch::new()?;
    let copy = scratch.0.join("copy.db");
    fs::copy(beside(path, "-wal"), beside(&copy, "-wal"))?;
    fs::copy(path, &copy)?;
    Ok(Database { connection: connect(&uri(&copy, "mode=rw"))?, unlocked: None, _copy: Some(scratch) })
}

/// What changes of a database when it is written: its length, its time, the length of its log.
#[derive(Debug, PartialEq, Eq)]
struct State(u64, SystemTime, u64);

impl State {
    fn of(path: &Path) -> io::Result<Self> {
        let file = path.metadata()?;
        let log = beside(path, "-wal").metadata().map_or(0, |log| log.len());
        Ok(Self(file.len(), file.modified()?, log))
    }
}

impl Database {
    /// Whether the host left the database alone since it was opened. What was read of one that was disturbed may lack
    /// rows.
    #[must_use]
    pub fn is_undisturbed(&self) -> bool {
        let same = |(path, before): &(PathBuf, State)| State::of(path).is_ok_and(|now| now == *before);
        self.unlocked.as_ref().is_none_or(same)
    }

    /// Whether a table has a column; both are names of ours, not of the database.
    #[must_use]
    pub fn has_column(&self, table: &'static str, column: &'static str) -> bool {
        self.connection.prepare(&format!("SELECT {column} FROM {table}")).is_ok()
    }

    /// Hands each row of a query to `take`.
    ///
    /// # Errors
    /// When the query does not fit the database, or a page cannot be read; rows that were handed on stay so.
    pub fn each(
        &self,
        sql: &str,
        parameters: &[&dyn ToSql],
        mut take: impl FnMut(Row<'_, '_>),
    ) -> io::Result<()> {
        let mut statement = self.connection.prepare(sql).map_err(wrong)?;
        let mut rows = statement.query(parameters).map_err(wrong)?;
        while let Some(row) = rows.next().map_err(wrong)? {
            take(Row(row));
        }
        Ok(())
    }
}

/// One row; a value of the wrong type is none.
#[derive(Debug)]
pub struct Row<'r, 's>(&'r rusqlite::Row<'s>);

impl<'r> Row<'r, '_> {
    /// The text in a column.
    #[must_use]
    pub fn text(&self, column: usize) -> Option<&'r str> {
        self.value(column)?.as_str().ok()
    }

    /// The bytes of a text or of a blob.
    #[must_use]
    pub fn bytes(&self, column: usize) -> Option<&'r [u8]> {
        self.value(column)?.as_bytes().ok()
    }

    /// The whole number in a column.
    #[must_use]
    pub fn whole(&self, column: usize) -> Option<i64> {
        self.value(column)?.as_i64().ok()
    }

    /// A counter: null is 0, and what is no count is none.
    #[must_use]
    pub fn count(&self, column: usize) -> Option<i64> {
        match self.value(column)? {
            ValueRef::Null => Some(0),
            ValueRef::Integer(count) => Some(count).filter(|count| (0..=MAX_COUNT).contains(count)),
            _ => None,
        }
    }

    fn value(&self, column: usize) -> Option<ValueRef<'r>> {
        self.0.get_ref(column).ok()
    }
}

fn connect(uri: &str) -> io::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(uri, flags).map_err(wrong)?;
    connection.busy_timeout(PATIENCE).map_err(wrong)?;
    // SQLite opens a file when it first reads it; the moment of this read is that of all that follow.
    connection.execute_batch("BEGIN").map_err(wrong)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(wrong)?;
    Ok(connection)
}

fn wrong(error: rusqlite::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// A path as SQLite's URI; what has a meaning there is escaped.
fn uri(path: &Path, how: &str) -> String {
    use std::fmt::Write;
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                uri.push(char::from(*byte))
            }
            _ => drop(write!(uri, "%{byte:02x}")),
        }
    }
    uri + "?" + how
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// A private folder that is removed with what is in it.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let name = format!("tally-{}-{:08x}", std::process::id(), fastrand::u32(..));
        let dir = std::env::temp_dir().join(name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            builder.mode(0o700);
        }
        builder.create(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nobody is left to be told.
        drop(fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
