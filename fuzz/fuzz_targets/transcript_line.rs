#![no_main]

#[path = "../properties/transcript_line.rs"]
mod transcript_line;

libfuzzer_sys::fuzz_target!(|input: &[u8]| transcript_line::holds(input));
