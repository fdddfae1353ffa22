//! Upstream's code as two child processes: one that makes clusters, one that answers for them.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A kind of random cluster: what the generator is asked for.
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    flags: &'static [&'static str],
}

/// The modes take turns, so that a run of any length has seen each of them about as often.
pub(crate) const MODES: [Mode; 8] = [
    Mode { name: "plain", flags: &[] },
    Mode { name: "vips", flags: &["--vips"] },
    Mode { name: "existing", flags: &["--existing", "--vips"] },
    Mode { name: "odd-ips", flags: &["--odd-ips", "--vips"] },
    Mode { name: "shared-ips", flags: &["--shared-ips", "--vips"] },
    Mode { name: "no-auto", flags: &["--no-auto", "--vips"] },
    Mode { name: "existing, shared-ips", flags: &["--existing", "--shared-ips"] },
    Mode { name: "existing, odd-ips, no-auto", flags: &["--existing", "--odd-ips", "--no-auto"] },
];

/// The documents of consecutive seeds, one a line.
pub(crate) struct Generator {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Generator {
    pub(crate) fn start(oracle: &Path, mode: &Mode, seed: u64, count: u64) -> Result<Self> {
        let mut child = Command::new(oracle)
            .args(["gen", "--doc", "--all-nodes"])
            .args(["--seed", &seed.to_string(), "--count", &count.to_string()])
            .args(mode.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", oracle.display()))?;
        let stdout = child.stdout.take().context("the generator's output")?;
        Ok(Self { child, lines: BufReader::with_capacity(1 << 20, stdout) })
    }

    /// The next document with its line end; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.lines.read_until(b'\n', &mut line)? > 0 {
            return Ok(Some(line));
        }
        let status = self.child.wait()?;
        if !status.success() {
            bail!("oracle gen ended with {status}");
        }
        Ok(None)
    }
}

/// The process that answers. Questions and answers are two halves, so that the next question can be on its
/// way while an answer is read.
pub(crate) struct Server {
    child: Child,
    pub(crate) questions: Questions,
    pub(crate) answers: Answers,
}

pub(crate) struct Questions(ChildStdin);
pub(crate) struct Answers(BufReader<ChildStdout>);

impl Server {
    pub(crate) fn start(oracle: &Path) -> Result<Self> {
        let mut child = Command::new(oracle)
            .args(["serve", "--raw"])
            // The collector is most of its work otherwise; two of these processes share the machine.
            .env("GOGC", "400")
            .env("GOMAXPROCS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", oracle.display()))?;
        let stdin = child.stdin.take().context("the oracle's input")?;
        let stdout = child.stdout.take().context("the oracle's output")?;
        let answers = Answers(BufReader::with_capacity(1 << 20, stdout));
        Ok(Self { child, questions: Questions(stdin), answers })
    }

    /// One question, one answer.
    pub(crate) fn ask(&mut self, document: &[u8]) -> Result<Vec<u8>> {
        self.questions.send(document)?;
        self.answers.next()
    }

    /// Ends the process and says whether it was content.
    pub(crate) fn finish(mut self) -> Result<()> {
        drop(self.questions);
        let status = self.child.wait()?;
        if !status.success() {
            bail!("oracle serve ended with {status}");
        }
        Ok(())
    }
}

impl Questions {
    /// A whole document, one line; it must end with a line feed.
    pub(crate) fn send(&mut self, document: &[u8]) -> Result<()> {
        self.0.write_all(document).context("writing to oracle serve")
    }
}

impl Answers {
    pub(crate) fn next(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        if self.0.read_until(b'\n', &mut line)? == 0 {
            bail!("oracle serve ended before it had answered");
        }
        Ok(line)
    }
}
