#![no_main]

#[path = "../properties/jsonl_tail.rs"]
mod jsonl_tail;

libfuzzer_sys::fuzz_target!(|input: &[u8]| jsonl_tail::holds(input));
