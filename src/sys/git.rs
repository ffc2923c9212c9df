//! Facts read from `.git` files; no git process is ever started.
