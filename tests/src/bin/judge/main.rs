//! The judge: random clusters, our answers against upstream's.
//!
//! A Go program that runs upstream's own controllers and kube-proxy code makes the clusters and answers for
//! them. Each is given to our [`Cluster`](evenkeel_core::Cluster) once for every node, twice over:
//!
//! | comparison | ours is made of | against |
//! |---|---|---|
//! | slices | the EndpointSlices that upstream wrote | kube-proxy's view made of the same |
//! | pod endpoints | Services, Pods, Nodes | the endpoints in the slices that upstream made of the same |
//! | pod view | Services, Pods, Nodes | kube-proxy's view made of those slices, for Services without hints |
//!
//! From node to node the objects arrive in another way: listed, backwards, or in two generations.
//!
//! A difference is either of a kind that `docs/differences.md` explains, or it is shrunk to the smallest cluster
//! that shows it, written to `target/judge`, and the run fails.

mod differences;
mod facts;
mod freedom;
mod oracle;
mod ours;
mod shrink;
mod upstream;
mod verdict;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use facts::Difference;
use oracle::{Generator, MODES, Mode, Server};
use upstream::{Answer, Document};
use verdict::{Verdict, judge};

const USE: &str = "usage: judge --oracle PATH [--clusters N] [--seed S] [--jobs J] [FILE...]

  --oracle PATH   the program of tests/upstream/cmd/oracle
  --clusters N    how many random clusters (2,000)
  --seed S        the first seed (1); cluster i has seed S + i
  --jobs J        how many at once (2)
  FILE...         judge these documents instead, as target/judge has them";

/// Clusters of one mode in a row: enough that starting a generator does not count.
const BLOCK: u64 = 50;
/// After so many clusters a long run says how far it is.
const PROGRESS: u64 = 10_000;
/// Differences after these are counted, not shrunk.
const SHRUNK_MAX: usize = 8;
/// So many differences of one cluster, and so many of its objects, are shown.
const SHOWN_MAX: usize = 3;
const OBJECTS_MAX: usize = 12;
/// Where the smallest clusters go.
const FOLDER: &str = "target/judge";

struct Options {
    oracle: PathBuf,
    clusters: u64,
    seed: u64,
    jobs: usize,
    files: Vec<PathBuf>,
}

fn options() -> Result<Options> {
    let mut options =
        Options { oracle: PathBuf::new(), clusters: 2_000, seed: 1, jobs: 2, files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} wants a value\n{USE}"));
        match word.as_str() {
            "--oracle" => options.oracle = value()?.into(),
            "--clusters" => options.clusters = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
            "--jobs" => options.jobs = value()?.parse()?,
            "--help" => {
                println!("{USE}");
                std::process::exit(0);
            }
            flag if flag.starts_with('-') => bail!("unknown flag {flag}\n{USE}"),
            file => options.files.push(file.into()),
        }
    }
    if options.oracle.as_os_str().is_empty() {
        bail!("{USE}");
    }
    Ok(options)
}

/// What all jobs have found together.
#[derive(Default)]
struct Totals {
    verdict: Verdict,
    clusters: u64,
    failed: u64,
    unexplained: u64,
    /// What was shrunk already: comparison and fact.
    kinds: BTreeSet<String>,
    /// Clusters that could not be judged at all.
    broken: u64,
}

/// Why a cluster fails.
enum Fault {
    Differences(Vec<Difference>),
    /// We refused an object, or broke a promise; or upstream did not answer.
    Broken(String),
}

impl Fault {
    /// Faults of one kind are shown and shrunk once.
    fn kind(&self) -> String {
        match self {
            Self::Differences(list) => {
                list.first().map(|d| format!("{}-{}", d.comparison.text(), d.fact)).unwrap_or_default()
            }
            Self::Broken(why) => {
                let cause = why.rsplit(": ").find(|part| part.contains(' ')).unwrap_or(why);
                cause.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ').take(40).collect()
            }
        }
    }
}

fn fault(document: &Document, answer: &[u8]) -> (Verdict, Option<Fault>) {
    let judged = serde_json::from_slice::<Answer>(answer)
        .map_err(Into::into)
        .and_then(|answer| judge(document, answer));
    match judged {
        Ok(mut verdict) => {
            let unexplained = std::mem::take(&mut verdict.unexplained);
            (verdict, (!unexplained.is_empty()).then_some(Fault::Differences(unexplained)))
        }
        Err(error) => (Verdict::default(), Some(Fault::Broken(format!("{error:#}")))),
    }
}

struct Judge<'o> {
    options: &'o Options,
    totals: Mutex<Totals>,
    blocks: AtomicU64,
}

impl Judge<'_> {
    /// Takes blocks of seeds until none is left.
    fn work(&self) -> Result<()> {
        let mut server = Server::start(&self.options.oracle)?;
        loop {
            // A seed belongs to the same block, and so has the same mode, in every run.
            let end = self.options.seed + self.options.clusters;
            let block = self.options.seed / BLOCK + self.blocks.fetch_add(1, Ordering::Relaxed);
            let first = self.options.seed.max(block * BLOCK);
            if first >= end {
                return server.finish();
            }
            let mode = &MODES[usize::try_from(block)? % MODES.len()];
            self.block(&mut server, mode, first, end.min((block + 1) * BLOCK) - first)?;
        }
    }

    /// One block: a thread hands the documents to upstream and, in the same order, to us.
    fn block(&self, server: &mut Server, mode: &Mode, seed: u64, count: u64) -> Result<()> {
        let mut generator = Generator::start(&self.options.oracle, mode, seed, count)?;
        let (sender, documents) = sync_channel::<Vec<u8>>(16);
        let Server { questions, answers, .. } = server;
        let faults = std::thread::scope(|scope| -> Result<Vec<_>> {
            let feeder = scope.spawn(move || -> Result<()> {
                while let Some(document) = generator.next()? {
                    questions.send(&document)?;
                    sender.send(document).context("nobody reads the documents")?;
                }
                Ok(())
            });
            let mut faults = Vec::new();
            let mut seen = Verdict::default();
            let mut number = 0;
            for line in documents {
                let answer = answers.next()?;
                let document: Document = serde_json::from_slice(&line)?;
                let (verdict, fault) = fault(&document, &answer);
                seen.add(&verdict);
                faults.extend(fault.map(|fault| (seed + number, document, fault)));
                number += 1;
            }
            feeder.join().map_err(|_| anyhow::anyhow!("the feeding thread panicked"))??;
            if number != count {
                bail!("oracle gen made {number} of {count} clusters");
            }
            let mut totals = self.totals.lock().expect("no job panics while it counts");
            totals.verdict.add(&seen);
            let before = totals.clusters / PROGRESS;
            totals.clusters += count;
            if totals.clusters / PROGRESS > before {
                eprintln!("{} of {} clusters", totals.clusters, self.options.clusters);
            }
            Ok(faults)
        })?;
        for (seed, document, fault) in faults {
            self.fail(server, &format!("seed {seed} ({})", mode.name), &format!("{seed}"), &document, fault)?;
        }
        Ok(())
    }

    /// Counts a fault; the first of its kind is shown, shrunk and kept.
    fn fail(
        &self,
        server: &mut Server,
        title: &str,
        name: &str,
        document: &Document,
        fault: Fault,
    ) -> Result<()> {
        let kind = fault.kind();
        let is_new = {
            let mut totals = self.totals.lock().expect("no job panics while it counts");
            totals.failed += 1;
            match &fault {
                Fault::Differences(list) => totals.unexplained += list.len() as u64,
                Fault::Broken(_) => totals.broken += 1,
            }
            totals.kinds.len() < SHRUNK_MAX && totals.kinds.insert(kind.clone())
        };
        if !is_new {
            return Ok(());
        }
        let small = shrink::smallest(document, |candidate| {
            let answer = serde_json::to_vec(candidate).map_err(Into::into).and_then(|mut line| {
                line.push(b'\n');
                server.ask(&line)
            });
            let Ok(answer) = answer else { return false };
            let (_, found) = self::fault(candidate, &answer);
            found.is_some_and(|found| found.kind() == kind)
        });
        std::fs::create_dir_all(FOLDER)?;
        let path = Path::new(FOLDER).join(format!("{name}-{}.json", kind.trim().replace(' ', "-")));
        let mut line = serde_json::to_vec(&small)?;
        line.push(b'\n');
        std::fs::write(&path, &line)?;
        let (_, again) = self::fault(&small, &server.ask(&line)?);
        let lines = |fault: &Fault| match fault {
            Fault::Differences(list) => {
                let more = list.len().saturating_sub(SHOWN_MAX);
                let mut lines: String = list.iter().take(SHOWN_MAX).map(|d| format!("  {d}\n")).collect();
                if more > 0 {
                    lines += &format!("  and {more} more\n");
                }
                lines
            }
            Fault::Broken(why) => format!("  {why}\n"),
        };
        let objects: String =
            small.items.iter().take(OBJECTS_MAX).map(|item| format!("    {item}\n")).collect();
        println!(
            "\n{title}: unexplained\n{}shrunk to {} objects, {}:\n{}{objects}",
            lines(&fault),
            small.items.len(),
            path.display(),
            again.as_ref().map(lines).unwrap_or_default(),
        );
        Ok(())
    }

    /// Judges documents from files.
    fn files(&self) -> Result<()> {
        let mut server = Server::start(&self.options.oracle)?;
        for path in &self.options.files {
            let text = std::fs::read(path).with_context(|| format!("{}", path.display()))?;
            for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                let mut document: Document = serde_json::from_slice(line)?;
                document.all_nodes = true;
                let mut question = serde_json::to_vec(&document)?;
                question.push(b'\n');
                let (verdict, fault) = fault(&document, &server.ask(&question)?);
                {
                    let mut totals = self.totals.lock().expect("no job panics while it counts");
                    totals.verdict.add(&verdict);
                    totals.clusters += 1;
                }
                if let Some(fault) = fault {
                    let name = path.file_stem().unwrap_or_default().to_string_lossy();
                    self.fail(
                        &mut server,
                        &path.display().to_string(),
                        &format!("again-{name}"),
                        &document,
                        fault,
                    )?;
                }
            }
        }
        server.finish()
    }
}

fn main() -> Result<ExitCode> {
    let options = options()?;
    let start = Instant::now();
    let judge = Judge { options: &options, totals: Mutex::default(), blocks: AtomicU64::new(0) };
    if options.files.is_empty() {
        std::thread::scope(|scope| -> Result<()> {
            let jobs: Vec<_> = (0..options.jobs.max(1)).map(|_| scope.spawn(|| judge.work())).collect();
            for job in jobs {
                job.join().map_err(|_| anyhow::anyhow!("a job panicked"))??;
            }
            Ok(())
        })?;
    } else {
        judge.files()?;
    }
    let totals = judge.totals.into_inner()?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "\nseeds {}..{}, {:.0} s, {:.0} clusters a second",
        options.seed,
        options.seed + totals.clusters,
        seconds,
        totals.clusters as f64 / seconds
    );
    println!(
        "service ports compared {}; left out of the Pod views since hints are in force {}; endpoint lists {}",
        totals.verdict.ports, totals.verdict.hinted, totals.verdict.lists
    );
    let rows: Vec<String> =
        totals.verdict.explained.iter().map(|(row, count)| format!("{row}: {count}")).collect();
    let explained: u64 = totals.verdict.explained.values().sum();
    let rows = if rows.is_empty() { String::new() } else { format!(" ({})", rows.join(", ")) };
    println!(
        "clusters {}, views compared {}, differences explained {explained}{rows}, unexplained {}",
        totals.clusters,
        totals.verdict.views,
        totals.unexplained + totals.broken
    );
    println!("{} passed, {} failed", totals.clusters - totals.failed, totals.failed);
    Ok(if totals.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
