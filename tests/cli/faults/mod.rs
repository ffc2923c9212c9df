//! What can go wrong, case by case (`docs/faults.md` has the index), with real processes.

mod network;
mod process;
