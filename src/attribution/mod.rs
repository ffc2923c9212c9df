//! Whose work it is: the project, the task with its phase and counters, and the delegations.
//!
//! Everything here is read from files that others write. A file that is missing, broken or hostile costs only what it
//! would have said: the field is `None`, and a warning names the file.

pub mod delegations;
pub mod project;
pub mod sidecar;
pub mod task;
pub mod windows;
