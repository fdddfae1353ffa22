//! Starts the program and waits for what it says, with a deadline.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_evenkeel");
/// Nothing here takes a second; on a busy machine it may.
const PATIENCE: Duration = Duration::from_secs(30);

/// The small cluster that the README shows.
pub(crate) fn manifests() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/manifests").to_owned()
}

/// What a program said, and how it ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars() {
        if name.starts_with("EVENKEEL_") || name == "NODE_NAME" {
            command.env_remove(name);
        }
    }
    command
}

/// Runs to the end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    run_in(arguments, &[])
}

/// Runs to the end with something in the environment.
pub(crate) fn run_in(arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    ended(command(arguments).envs(environment.iter().copied()).spawn().expect("started"))
}

/// Runs to the end with this on standard input.
pub(crate) fn run_with_input(arguments: &[&str], input: &str) -> Ended {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().expect("started");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
    ended(child)
}

fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().expect("ended");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A folder that is gone when the test is over.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("evenkeel-program-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a name in UTF-8")
    }

    pub(crate) fn join(&self, name: &str) -> String {
        format!("{}/{name}", self.path())
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("a folder");
        std::fs::write(path, text).expect("written");
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.0.join(name)).expect("removed");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that goes on until it is told to end.
pub(crate) struct Live {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
    complaints: Vec<String>,
}

impl Live {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = command(arguments).spawn().expect("started");
        let out = lines(child.stdout.take().expect("a pipe"));
        let err = lines(child.stderr.take().expect("a pipe"));
        Self { child, out, err, complaints: Vec::new() }
    }

    fn line(&mut self) -> String {
        self.out.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            self.complaints.extend(self.err.try_iter());
            panic!("nothing more is printed; {:?}", self.complaints)
        })
    }

    /// The next generation is this: its first line, then these. What it says beyond that, the next call or the
    /// end of the program finds.
    pub(crate) fn expect(&mut self, differences: &[&str]) {
        let head = self.line();
        assert!(head.contains("Z generation "), "{head}");
        let lines: Vec<String> = differences.iter().map(|_| self.line()).collect();
        assert_eq!(lines, differences);
    }

    /// Lines of output up to one that is looked for.
    pub(crate) fn lines_until(&mut self, last: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.line());
            if last(&lines[lines.len() - 1]) {
                return lines;
            }
        }
    }

    /// Waits until standard error says this.
    pub(crate) fn complaint(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let within = deadline.saturating_duration_since(Instant::now());
            let line = self.err.recv_timeout(within);
            let line = line.unwrap_or_else(|_| panic!("{text:?} is not said; {:?}", self.complaints));
            let found = line.contains(text);
            self.complaints.push(line);
            if found {
                return;
            }
        }
    }

    /// Ends the program by a signal. Its exit code, and what it had still printed.
    pub(crate) fn end(mut self, signal: &str) -> (Option<i32>, Vec<String>) {
        let told = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status();
        assert!(told.expect("kill runs").success());
        let code = self.child.wait().expect("ended").code();
        (code, self.out.iter().collect())
    }
}

/// Starts a program, reads so many lines and closes its output; `then` makes it print again. Its exit code.
pub(crate) fn close_after(arguments: &[&str], lines: usize, then: impl FnOnce()) -> Ended {
    let mut child = command(arguments).spawn().expect("started");
    let mut pipe = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut out = String::new();
    for _ in 0..lines {
        pipe.read_line(&mut out).expect("a line");
    }
    drop(pipe);
    then();
    let ended = ended(child);
    Ended { out, ..ended }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines as they come.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
