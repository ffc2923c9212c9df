#![no_main]

#[path = "../properties/host_payload.rs"]
mod host_payload;

libfuzzer_sys::fuzz_target!(|input: &[u8]| host_payload::holds(input));
