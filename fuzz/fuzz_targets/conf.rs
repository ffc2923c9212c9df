#![no_main]

#[path = "../properties/conf.rs"]
mod conf;

libfuzzer_sys::fuzz_target!(|input: &[u8]| conf::holds(input));
