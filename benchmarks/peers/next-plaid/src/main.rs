//! Builds and searches an index of next-plaid over the token vectors of `benchmarks/bench/peers.ts`.
//!
//!     next-plaid-peer build|search TASK.json
//!
//! Prints `{"seconds", "megabytes", "found", "version"}`: processor time, peak memory, and the
//! passages of each question, best first.

use std::{fs, path::Path};

use ndarray::Array2;
use next_plaid::{IndexConfig, MmapIndex, SearchParameters};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    /// Folder of the index.
    index: String,
    /// Files of float32 values, and the number of vectors of each passage or question.
    keys: String,
    key_counts: Vec<usize>,
    questions: String,
    question_counts: Vec<usize>,
    dimension: usize,
    bits: usize,
    top_k: usize,
    /// Options of the peer; its defaults where absent.
    options: Options,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    probes: Option<usize>,
    /// False: centroids are not pruned by their score.
    pruning: Option<bool>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let task: Task =
        serde_json::from_slice(&fs::read(&arguments[2]).expect("the task")).expect("a task");
    let (seconds, found) = match arguments[1].as_str() {
        "build" => (build(&task), Vec::new()),
        "search" => search(&task),
        other => panic!("build or search, not {other}"),
    };
    let report = serde_json::json!({
        "seconds": seconds, "megabytes": peak_megabytes(), "found": found, "version": "1.8.5",
    });
    println!("{report}");
}

fn build(task: &Task) -> f64 {
    let keys = read(&task.keys, &task.key_counts, task.dimension);
    let config = IndexConfig { nbits: task.bits, ..Default::default() };
    let start = processor_seconds();
    MmapIndex::create_with_kmeans(&keys, &task.index, &config).expect("an index");
    processor_seconds() - start
}

/// The first ten questions before all, so that files are read and pages mapped.
fn search(task: &Task) -> (f64, Vec<Vec<i64>>) {
    let questions = read(&task.questions, &task.question_counts, task.dimension);
    let mut parameters = SearchParameters { top_k: task.top_k, ..Default::default() };
    if let Some(probes) = task.options.probes {
        parameters.n_ivf_probe = probes;
    }
    if task.options.pruning == Some(false) {
        parameters.centroid_score_threshold = None;
    }
    let index = MmapIndex::load(&task.index).expect("the index");
    let ask = |one: &Array2<f32>| {
        index.search(one, &parameters, None).expect("a result").passage_ids
    };
    for question in questions.iter().take(10) {
        ask(question);
    }
    let start = processor_seconds();
    let found = questions.iter().map(ask).collect();
    (processor_seconds() - start, found)
}

fn read(path: &str, counts: &[usize], dimension: usize) -> Vec<Array2<f32>> {
    let bytes = fs::read(Path::new(path)).expect("the vectors");
    let mut values = bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
    counts
        .iter()
        .map(|&count| {
            let taken: Vec<f32> = values.by_ref().take(count * dimension).collect();
            Array2::from_shape_vec((count, dimension), taken).expect("all vectors")
        })
        .collect()
}

fn processor_seconds() -> f64 {
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn peak_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
    let kibibytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (1024.0 * kibibytes / 1e6).round()
}
