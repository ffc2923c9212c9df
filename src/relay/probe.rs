//! One question to a Console: a read that changes nothing there, with the credential that records would be sent with.

use super::transport::{NoAnswer, Reply, Transport, send};
use crate::settings::Timeouts;
use crate::settings::endpoint::Endpoint;
use crate::settings::secret::Secret;

/// The answer to a GET of `endpoint`.
///
/// # Errors
/// When none came within `timeouts`, or the request could not be made.
pub fn ask(
    endpoint: &Endpoint,
    token: Option<&Secret>,
    tenant: Option<&str>,
    timeouts: Timeouts,
) -> Result<Reply, NoAnswer> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| NoAnswer::because(&format!("no runtime: {error}")))?;
    let transport = Transport::new(timeouts);
    let reply = transport.read(endpoint, token, tenant).and_then(|request| runtime.block_on(send(request)));
    // A name look-up that hangs in its own thread must not keep the process.
    runtime.shutdown_background();
    reply
}
