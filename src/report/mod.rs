//! Views of what was counted: values that serialise to the documented JSON, and tables that fit a terminal.

pub mod economics;
pub mod table;
pub mod usage;
