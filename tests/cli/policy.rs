//! The policies as hosts and adapters call them: on real files and real repositories, against recorded vectors.

mod attempts;
mod backstop;
mod hosts;
mod kit;
mod parting;
mod session;
mod side_effects;
mod stage;
mod tampering;
mod vectors;
