//! The one door to starting processes.
