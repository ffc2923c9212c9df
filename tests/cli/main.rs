//! The command line, tested as a host and a person use it: the real binary, a cleared environment, a home of its own,
//! real files. One binary, so that the suite links once.
#![cfg(test)]

#[cfg(test)]
mod broken;
#[cfg(test)]
mod codex;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod docs;
mod economics;
#[cfg(test)]
mod env;
mod events;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod hook;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod liveness;
#[cfg(test)]
mod policy;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod setup;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod transcript;
#[cfg(test)]
mod usage;
