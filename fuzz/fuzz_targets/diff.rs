#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    qa_skill::fuzzing::diff(bytes);
});
