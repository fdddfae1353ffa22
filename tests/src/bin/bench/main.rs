//! What the node view costs: CPU time, memory and calls of the allocator, at growing sizes; with `--peer`
//! beside upstream's kube-proxy code on the same input in the same run.

mod clock;
mod files;
mod input;
mod measure;
mod peer;
mod report;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use evenkeel_core::Cluster;
use evenkeel_core::limits::Source;
use evenkeel_core::storage::HeapStorage;

use input::{Case, Input, flipped};
use measure::Cost;
use peer::{Peer, Reading};
use report::{Line, Memory, Report};
use work::{Running, as_new, config, limits};

#[global_allocator]
static ALLOCATOR: clock::Counting = clock::Counting;

const USE: &str = "usage: bench [--quick] [--markdown] [--inputs FOLDER [--peer GO_TEST_BINARY]] [FILTER]

  --inputs FOLDER   files of `oracle bench-gen`: checked to hold the same objects
  --peer BINARY     upstream's benchmarks (`go test -c`), run in turn with ours
  --quick           small sizes, few rounds
  --markdown        the tables as docs/performance.md has them
  FILTER            only work whose name contains this";

/// The sizes of the table: growth is read from left to right.
const SIZES: [Case; 4] = [
    Case { services: 100, pods_per_service: 5, namespaces: 50 },
    Case { services: 1_000, pods_per_service: 5, namespaces: 50 },
    Case { services: 10_000, pods_per_service: 5, namespaces: 50 },
    Case { services: 44_000, pods_per_service: 2, namespaces: 50 },
];
/// One Service with very many endpoints, in slices of 100.
const LARGE_SERVICE: Case = Case { services: 1, pods_per_service: 5_000, namespaces: 1 };

struct Options {
    quick: bool,
    markdown: bool,
    inputs: Option<PathBuf>,
    peer: Option<Peer>,
    filter: String,
}

fn options() -> Result<Options> {
    let mut words = std::env::args().skip(1);
    let mut options =
        Options { quick: false, markdown: false, inputs: None, peer: None, filter: String::new() };
    let mut binary = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.quick = true,
            "--markdown" => options.markdown = true,
            "--inputs" => options.inputs = Some(words.next().context("--inputs wants a folder")?.into()),
            "--peer" => binary = Some(PathBuf::from(words.next().context("--peer wants a file")?)),
            "--help" => {
                println!("{USE}");
                std::process::exit(0);
            }
            flag if flag.starts_with('-') => bail!("unknown flag {flag}\n{USE}"),
            filter => options.filter = filter.into(),
        }
    }
    if let Some(binary) = binary {
        let inputs = options.inputs.clone().context("--peer wants --inputs too")?;
        // The peer runs in a folder of its own choice.
        options.peer = Some(Peer { binary: binary.canonicalize()?, inputs: inputs.canonicalize()? });
    }
    Ok(options)
}

/// Measures ours and the peer's in turn, so that both see the same machine.
struct Harness<'o> {
    options: &'o Options,
    turns: usize,
    rounds: usize,
    report: Report,
}

impl Harness<'_> {
    fn wants(&self, work: &str) -> bool {
        work.contains(&self.options.filter)
    }

    fn line(
        &mut self,
        work: &'static str,
        case: Case,
        peer: Option<&str>,
        mut operation: impl FnMut(u64),
    ) -> Result<()> {
        let mut cost = Cost::default();
        let mut readings: Vec<Reading> = Vec::new();
        for _ in 0..self.turns {
            cost.measure(self.rounds, &mut operation);
            if let (Some(peer), Some(name)) = (&self.options.peer, peer) {
                readings.push(peer.run(&format!("{name}{}", case.size()))?);
            }
        }
        let best = readings.into_iter().min_by(|a, b| a.cpu_ns.total_cmp(&b.cpu_ns));
        eprintln!("  {work}, {}: {}", case.size(), report::time(cost.best()));
        self.report.lines.push(Line { work, case, cost, peer: best });
        Ok(())
    }

    fn slices(&mut self, case: Case) -> Result<()> {
        let input = Input::new(case);
        if let Some(folder) = &self.options.inputs {
            let count = files::check(&input, folder)?;
            eprintln!("  {}: {count} objects are the same in the files", case.size());
        }
        let limits = limits(&input, Source::Slices);
        let config = config(Source::Slices);
        let mut memory = HeapStorage::new(&limits);
        if self.wants("full view") {
            self.line("full view", case, Some("Full"), |_| {
                let cluster = Cluster::new(as_new(memory.lend()), limits.hash_seed, &config)
                    .expect("memory for the limits");
                Running::new(cluster).build(&input, Source::Slices);
            })?;
        }
        let cluster = Cluster::new(as_new(memory.lend()), limits.hash_seed, &config)?;
        let mut running = Running::new(cluster);
        running.build(&input, Source::Slices);
        self.report.memory.push(Memory::of(case, "slices", &running.cluster, &limits));

        let one =
            if case == LARGE_SERVICE { "one endpoint of a Service of 5,000" } else { "one slice changed" };
        let versions: Vec<_> = input.slices.iter().map(|slice| [flipped(slice), *slice]).collect();
        let middle = &versions[versions.len() / 2];
        if self.wants(one) {
            self.line(one, case, Some("One"), |n| {
                assert!(running.change_slice(&middle[usize::from(n % 2 == 1)]) > 0);
            })?;
            running.restore(&input, Source::Slices);
        }
        let each = "one slice changed, another each time";
        if self.wants(each) && case != LARGE_SERVICE {
            let mut walk = Walk::new(versions.len());
            self.line(each, case, None, |_| {
                let (at, odd) = walk.next();
                assert!(running.change_slice(&versions[at][usize::from(odd)]) > 0);
            })?;
            running.restore(&input, Source::Slices);
        }
        if self.wants("relist, nothing changed") {
            self.line("relist, nothing changed", case, None, |_| running.relist(&input, Source::Slices))?;
        }
        Ok(())
    }

    fn pods(&mut self, case: Case) -> Result<()> {
        let input = Input::new(case);
        let limits = limits(&input, Source::Pods);
        let config = config(Source::Pods);
        let mut memory = HeapStorage::new(&limits);
        if self.wants("full view from Pods") {
            self.line("full view from Pods", case, None, |_| {
                let cluster = Cluster::new(as_new(memory.lend()), limits.hash_seed, &config)
                    .expect("memory for the limits");
                Running::new(cluster).build(&input, Source::Pods);
            })?;
        }
        let mut running = Running::new(Cluster::new(as_new(memory.lend()), limits.hash_seed, &config)?);
        running.build(&input, Source::Pods);
        self.report.memory.push(Memory::of(case, "pods", &running.cluster, &limits));
        if self.wants("one Pod changed") {
            let mut walk = Walk::new(input.pods.len());
            self.line("one Pod changed, another each time", case, None, |_| {
                let (at, odd) = walk.next();
                let mut pod = input.pods[at];
                pod.ready = odd;
                assert!(running.change_pod(&pod) > 0);
            })?;
        }
        Ok(())
    }
}

/// Through all of a list in strides, so that neighbours in memory do not follow each other; every second time
/// around is the way back.
struct Walk {
    count: usize,
    stride: usize,
    at: usize,
    done: usize,
    /// On the way back.
    odd: bool,
}

impl Walk {
    fn new(count: usize) -> Self {
        let mut stride = count * 5 / 8 + 1;
        while gcd(stride, count) != 1 {
            stride += 1;
        }
        Self { count, stride, at: 0, done: 0, odd: false }
    }

    fn next(&mut self) -> (usize, bool) {
        let step = (self.at, self.odd);
        self.at = (self.at + self.stride) % self.count;
        self.done += 1;
        if self.done == self.count {
            self.done = 0;
            self.odd = !self.odd;
        }
        step
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn main() -> Result<ExitCode> {
    let options = options()?;
    let (turns, rounds) = if options.quick { (1, 3) } else { (3, 5) };
    let mut harness = Harness { options: &options, turns, rounds, report: Report::default() };
    let sizes = if options.quick { &SIZES[..2] } else { &SIZES[..] };
    for case in sizes.iter().copied().chain([LARGE_SERVICE]) {
        harness.slices(case)?;
    }
    for case in sizes {
        harness.pods(*case)?;
    }
    let report = harness.report;
    print!("{}", if options.markdown { report.markdown() } else { report.text() });
    let allocations = report.allocations();
    println!("allocations in the timed parts: {allocations}");
    Ok(if allocations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
