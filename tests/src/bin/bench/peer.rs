//! Upstream's own benchmarks: a Go test binary, run between ours on the same machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The test binary and the folder of its input files.
pub(crate) struct Peer {
    pub(crate) binary: PathBuf,
    pub(crate) inputs: PathBuf,
}

/// What one benchmark of upstream says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// CPU time of the whole process for one operation, garbage collection included.
    pub(crate) cpu_ns: f64,
    /// Bytes allocated for one operation.
    pub(crate) allocated: f64,
    /// Bytes that are kept for each endpoint: decoded objects, trackers and maps. Only of full builds.
    pub(crate) kept: Option<f64>,
}

impl Peer {
    /// Runs `BenchmarkProxy<name>` once.
    pub(crate) fn run(&self, name: &str) -> Result<Reading> {
        let output = Command::new(&self.binary)
            .args(["-test.run", "^$", "-test.cpu", "1", "-test.bench", &format!("^BenchmarkProxy{name}$")])
            .env("EVENKEEL_BENCH_DIR", &self.inputs)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("starting {}", self.binary.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{} ended with {}:\n{text}", self.binary.display(), output.status);
        parse(&text, name).with_context(|| format!("no figures of BenchmarkProxy{name} in:\n{text}"))
    }
}

/// `BenchmarkProxyFull1000x5   57   20612345 ns/op   20600000 cpu-ns/op   6800000 B/op`: name, count, then pairs.
fn parse(output: &str, name: &str) -> Option<Reading> {
    let line = output.lines().find(|line| line.starts_with(&format!("BenchmarkProxy{name}")))?;
    let words: Vec<&str> = line.split_whitespace().skip(2).collect();
    let figure = |unit: &str| {
        words
            .chunks(2)
            .find(|pair| pair.get(1) == Some(&unit))
            .and_then(|pair| pair.first()?.parse::<f64>().ok())
    };
    Some(Reading {
        cpu_ns: figure("cpu-ns/op")?,
        allocated: figure("B/op")?,
        kept: figure("objects-B/endpoint")
            .zip(figure("trackers-B/endpoint"))
            .map(|(objects, trackers)| objects + trackers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_before_their_units() {
        let line = "goos: linux\nBenchmarkProxyFull1x5000 \t 2\t 7.5e+06 ns/op\t 8000000 cpu-ns/op\t \
                    450.5 objects-B/endpoint\t 116.0 trackers-B/endpoint\t 1234 B/op\t 9 allocs/op\nPASS\n";
        assert_eq!(
            parse(line, "Full1x5000"),
            Some(Reading { cpu_ns: 8_000_000.0, allocated: 1234.0, kept: Some(566.5) })
        );
    }
}
