use super::*;
use crate::usage::call::Observation;
use crate::usage::reader::Prompt;
use std::io::Write;

#[derive(Default)]
struct Inputs(Vec<i64>);

impl Receiver for Inputs {
    fn call(&mut self, seen: Observation<'_>) {
        self.0.push(seen.tokens.input);
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {}
}

const HEAD: &str = concat!(
    r#"{"timestamp":"2026-11-10T09:00:00.000Z","type":"session_meta","payload":{"id":"t","cwd":"/w"}}"#,
    "\n",
    r#"{"timestamp":"2026-11-10T09:00:01.000Z","type":"turn_context","payload":{"turn_id":"a","model":"gpt-5.5"}}"#,
    "\n"
);

fn count(total: i64) -> String {
    let usage = format!(r#"{{"input_tokens":{total},"total_tokens":{total}}}"#);
    format!(
        r#"{{"timestamp":"2026-11-10T09:00:02.000Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{usage},"last_token_usage":{usage}}}}}}}"#
    )
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Reads `bytes` from `from` on.
fn read_on(bytes: &[u8], from: u64, thread: &mut Thread) -> (Vec<i64>, u64, Diagnostics) {
    let (mut to, mut met) = (Inputs::default(), Diagnostics::default());
    let offset = news(&file(bytes), from, thread, &mut to, &mut met).unwrap();
    (to.0, offset, met)
}

#[test]
fn an_open_line_counts_now_and_is_read_again_without_being_remembered() {
    let (first, second) = (count(5), count(9));
    let mut thread = Thread::named("t");
    let open = format!("{HEAD}{first}");
    let (inputs, offset, _) = read_on(open.as_bytes(), 0, &mut thread);
    assert_eq!((inputs, offset), (vec![5], HEAD.len() as u64));
    let whole = format!("{HEAD}{first}\n{second}\n");
    let (inputs, offset, met) = read_on(whole.as_bytes(), offset, &mut thread);
    assert_eq!((inputs, offset), (vec![5, 9], whole.len() as u64));
    assert_eq!(met, Diagnostics::default());
    let half = &whole[..whole.len() - 30];
    assert_eq!(read_on(half.as_bytes(), 0, &mut Thread::named("t")).0, [5], "half a line is being written");
}

#[test]
fn a_broken_line_costs_itself_and_only_one_with_usage_is_said() {
    let lines = [
        r#"{"timestamp":"x","type":"response_item","payload":{"type":"message","content":"token_usage"#.to_owned(),
        r#"{"timestamp":"x","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"inp"#
            .to_owned(),
        count(5).replace(":5", ":-5"),
        r#"{"timestamp":"x","type":"turn_con"#.to_owned(),
        "\u{0}\u{0}".to_owned(),
        count(7),
    ];
    let text = HEAD.to_owned() + &lines.join("\n") + "\n";
    let (inputs, _, met) = read_on(text.as_bytes(), 0, &mut Thread::named("t"));
    assert_eq!((inputs, met.unreadable_lines), (vec![7], 2));
}

#[test]
fn a_line_beyond_the_longest_is_lost_only_if_it_may_hold_usage() {
    let filler = "A".repeat(lines::MAX_LINE + (1 << 20));
    let image = format!(r#"{{"type":"response_item","payload":{{"image":"{filler}"}}}}"#);
    let text = format!("{HEAD}{image}\n{}\n", count(5));
    let (inputs, _, met) = read_on(text.as_bytes(), 0, &mut Thread::named("t"));
    assert_eq!((inputs, met.unreadable_lines), (vec![5], 0));
    let lost = count(5).replace("\"event_msg\"", &format!("\"event_msg\",\"x\":\"{filler}\""));
    let text = format!("{HEAD}{lost}\n{}\n", count(7));
    let (inputs, _, met) = read_on(text.as_bytes(), 0, &mut Thread::named("t"));
    assert_eq!((inputs, met.unreadable_lines), (vec![7], 1));
}

#[test]
fn spaced_json_and_other_orders_of_keys_are_read_too() {
    let spaced = count(5).replace("\":", "\": ").replace(",\"", ", \"");
    let turned = r#"{"payload":{"info":{"total_token_usage":{"input_tokens":9,"total_tokens":9},"last_token_usage":{"input_tokens":4,"total_tokens":4}},"type":"token_count"},"type":"event_msg"}"#;
    let text = format!("\u{feff}{HEAD}{spaced}\r\n{turned}\n");
    assert_eq!(read_on(text.as_bytes(), 0, &mut Thread::named("t")).0, [5, 4]);
}

#[test]
fn a_compressed_rollout_says_the_same_and_one_that_is_cut_off_fails_after_what_is_whole() {
    let text = format!("{HEAD}{}\n{}\n", count(5), count(9));
    let small =
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let path = Path::new("rollout-2026-11-10T09-00-00-t.jsonl.zst");
    let (mut to, mut met) = (Inputs::default(), Diagnostics::default());
    rollout(file_at_start(&small), path, &mut to, &mut met).unwrap();
    assert_eq!(to.0, [5, 9]);
    let more = format!("{}\n", count(12));
    let two = ruzstd::encoding::compress_to_vec(more.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let mut to = Inputs::default();
    rollout(file_at_start(&[&small[..], &two[..]].concat()), path, &mut to, &mut met).unwrap();
    assert_eq!(to.0, [5, 9, 12], "frames follow one another");
    for bytes in [&small[..small.len() - 5], b"no zstd at all", b""] {
        let failed = rollout(file_at_start(bytes), path, &mut Inputs::default(), &mut met);
        assert!(failed.is_err(), "{} bytes", bytes.len());
    }
}

fn file_at_start(bytes: &[u8]) -> File {
    let mut file = file(bytes);
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

#[test]
fn a_window_beyond_the_largest_is_refused_before_memory_is_asked_for() {
    // A frame header: magic, descriptor without content size, window descriptor for 2^(10+20) bytes; an empty block.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x01, 0x00, 0x00];
    let path = Path::new("rollout-2026-11-10T09-00-00-t.jsonl.zst");
    let mut met = Diagnostics::default();
    assert!(rollout(file_at_start(&frame), path, &mut Inputs::default(), &mut met).is_err());
}

#[test]
fn the_header_tells_where_the_thread_started() {
    assert_eq!(first_cwd(&file_at_start(HEAD.as_bytes())).unwrap(), Path::new("/w"));
    assert_eq!(first_cwd(&file_at_start(b"{\"type\":\"session_m")), None);
}
