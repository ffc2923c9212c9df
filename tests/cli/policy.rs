//! The policies as hosts and adapters call them: on real files and real repositories, against recorded vectors.

mod hosts;
mod kit;
mod parting;
mod stage;
mod vectors;
