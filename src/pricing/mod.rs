//! What a call cost: a dated registry of rates, one exact price per call.
//!
//! `registry` chooses the version in force and its row, `price` does the sum, `source` says which registry holds.
//! Pure but for `source`, which reads and writes files; nothing here opens a socket or reads the environment.

mod model_id;
mod money;
mod price;
mod registry;
mod row;
mod source;

pub use model_id::{ModelId, Region, UNKNOWN, canonical};
pub use money::Usd;
pub use price::{Priced, Request, Speed};
pub use registry::{Basis, Registry, RegistryError, Table};
pub use row::{Factor, Rate, Rates, Row, Tier};
pub use source::{INSTEAD, Loaded, Origin, StoreError, cached_copy_is_stale, load, store};
