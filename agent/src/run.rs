//! The commands: what is wired to what.

use anyhow::{Context, Result, bail};
use evenkeel_core::address::{Address, Prefix};
use evenkeel_core::limits::{Config, Source};
use evenkeel_core::time::Timestamp;
use evenkeel_core::{Kind, Sealed};
use std::convert::Infallible;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{Receiver, channel};
use tracing::{info, warn};

use crate::args::{self, Command, Input, LogFormat, LogLevel, Options, Output, Speed};
use crate::decode::{self, Object};
use crate::engine::{Delivery, Engine};
use crate::output::explain::Question;
use crate::output::{explain, json, list, table};
use crate::source::files::{self, Follower, STDIN};
use crate::source::replay::Recording;
use crate::source::{Event, Wanted};
use crate::view::View;

/// What `diff` answers when it could not compare.
const TROUBLE: u8 = 2;

/// Runs a command. Errors go to standard error; a closed output ends the program quietly.
#[must_use]
pub fn command(command: Command) -> ExitCode {
    let (result, trouble) = match command {
        Command::View(view) => (self::view(view), 1),
        Command::Run(run) => (self::run(run), 1),
        Command::Explain(explain) => (self::explain(explain), 1),
        Command::Diff(diff) => (self::diff(diff), TROUBLE),
    };
    match result {
        Ok(code) => code,
        Err(error) if is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evenkeel: {error:#}");
            ExitCode::from(trouble)
        }
    }
}

/// Whoever read our output has gone.
fn is_closed(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn view(args: args::View) -> Result<ExitCode> {
    let setup = Setup::new(args.options, LogLevel::Warn)?;
    let input = setup.options.input()?;
    let mut engine = setup.engine(&input, setup.output() == Output::Wide)?;
    let loaded = load(&mut engine, &input, setup.wanted)?;
    setup.check_node(&engine);
    let mut out = BufWriter::new(io::stdout().lock());
    match setup.output() {
        Output::Ndjson => {
            let sealed = engine.read(|cluster| cluster.generation());
            let generation = engine.deliver(loaded.now, |delivery| match delivery {
                Delivery::Anew => json::anew(&mut out, sealed),
                Delivery::Change(change) => json::change(&mut out, sealed, &change),
            })?;
            json::generation_end(&mut out, generation)?;
        }
        output => {
            let (generation, view) = whole(&mut engine, loaded.now);
            match output {
                Output::Json => json::view(&mut out, generation, &setup.node, &view)?,
                Output::Wide => engine
                    .read(|cluster| table::view(&mut out, generation, &setup.node, &view, Some(cluster)))?,
                _ => table::view(&mut out, generation, &setup.node, &view, None)?,
            }
        }
    }
    out.flush()?;
    let refused = engine.counts().refused > 0 || loaded.unreadable > 0;
    let nothing = engine.counts().objects() == 0 && refused;
    let wrong = args.strict && (refused || engine.counts().noted > 0);
    Ok(if nothing || wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn explain(args: args::Explain) -> Result<ExitCode> {
    let setup = Setup::new(args.options, LogLevel::Warn)?;
    if setup.options.output.is_some_and(|output| output != Output::Table) {
        bail!("explain prints for people only: --output table");
    }
    let input = setup.options.input()?;
    let mut engine = setup.engine(&input, true)?;
    load(&mut engine, &input, setup.wanted)?;
    setup.check_node(&engine);
    let mut out = BufWriter::new(io::stdout().lock());
    let known = engine.read(|cluster| {
        explain::explain(&mut out, &mut io::stderr().lock(), cluster, Question::parse(&args.service))
    })?;
    out.flush()?;
    Ok(if known { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn diff(args: args::Diff) -> Result<ExitCode> {
    let setup = Setup::new(args.options, LogLevel::Warn)?;
    let (from, to) = (Input::Files(args.from), Input::Files(args.to));
    let mut engine = setup.engine(&to, false)?;
    let mut unreadable = load(&mut engine, &from, setup.wanted)?.unreadable;
    let (_, mut view) = whole(&mut engine, now());
    let loaded = load(&mut engine, &to, setup.wanted)?;
    unreadable += loaded.unreadable;
    setup.check_node(&engine);
    if unreadable > 0 || (args.strict && (engine.counts().refused > 0 || engine.counts().noted > 0)) {
        return Ok(ExitCode::from(TROUBLE));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let mut printer = Printer::new(setup.output(), &mut view)?;
    let differs = printer.print(&mut engine, loaded.now, &mut out, None)?;
    Ok(ExitCode::from(u8::from(differs)))
}

fn run(args: args::Run) -> Result<ExitCode> {
    let setup = Setup::new(args.options, LogLevel::Info)?;
    let input = setup.options.input()?;
    let mut view = View::default();
    let mut live = Live {
        printer: Printer::new(setup.output(), &mut view)?,
        engine: setup.engine(&input, setup.output() == Output::Wide)?,
        addresses: setup.own_addresses(&input)?,
        node: setup.node.clone(),
    };
    let mut events = match input {
        Input::Files(paths) => follow(paths, setup.wanted),
        Input::Recording(path) => play(&path, setup.wanted, args.speed, args.step)?,
    };
    // One thread here, which owns the cluster; it hears signals while the source's thread waits for a file.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let stopped = stopped()?;
        tokio::pin!(stopped);
        loop {
            let event = tokio::select! {
                biased;
                signal = &mut stopped => {
                    info!("{signal}: ends");
                    return Ok(ExitCode::SUCCESS);
                }
                event = events.recv() => event,
            };
            match event {
                Some(event) => live.take(event?)?,
                None => return Ok(ExitCode::SUCCESS),
            }
        }
    })
}

/// Waits for the signals that ask a program to end.
fn stopped() -> io::Result<impl Future<Output = &'static str>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        }
    })
}

/// How many events a source may be ahead.
const AHEAD: usize = 64;

/// Follows files in a thread of its own, since reading a file, or standard input, cannot be given up.
fn follow(paths: Vec<PathBuf>, wanted: Wanted) -> Receiver<io::Result<Event>> {
    let (sender, receiver) = channel(AHEAD);
    std::thread::spawn(move || {
        let mut follower = Follower::new(&paths, wanted);
        let mut heard = true;
        while heard {
            let pause = follower.look(&mut |event| heard &= sender.blocking_send(Ok(event)).is_ok());
            if !follower.can_change() {
                return;
            }
            std::thread::sleep(pause);
        }
    });
    receiver
}

/// Plays a recording in a thread of its own.
fn play(path: &Path, wanted: Wanted, speed: Speed, step: bool) -> Result<Receiver<io::Result<Event>>> {
    if step && (path.as_os_str() == STDIN || !io::stdin().is_terminal()) {
        bail!("--step needs a terminal as standard input");
    }
    let mut recording = Recording::open(path, wanted).with_context(|| path.display().to_string())?;
    let (sender, receiver) = channel(AHEAD);
    std::thread::spawn(move || {
        loop {
            let next = match recording.step() {
                Ok(Some(next)) => next,
                Ok(None) => return,
                Err(error) => {
                    // If nobody listens any more, nobody needs to know.
                    let _ = sender.blocking_send(Err(error));
                    return;
                }
            };
            if step {
                eprint!("{} ", next.text);
                if io::stdin().read_line(&mut String::new()).unwrap_or_default() == 0 {
                    return;
                }
            } else if let Speed::Factor(factor) = speed {
                let pause = Duration::from_nanos(next.pause_ns).as_secs_f64() / factor;
                std::thread::sleep(Duration::try_from_secs_f64(pause).unwrap_or(Duration::MAX));
            }
            let seal = step.then_some(Event::Seal(recording.now()));
            for event in next.events.into_iter().chain(seal) {
                if sender.blocking_send(Ok(event)).is_err() {
                    return;
                }
            }
        }
    });
    Ok(receiver)
}

/// What `run` holds.
struct Live<'v> {
    engine: Engine,
    printer: Printer<'v>,
    node: String,
    /// The addresses of the own Node that node ports were resolved with, if they were.
    addresses: Option<Vec<Address>>,
}

impl Live<'_> {
    fn take(&mut self, event: Event) -> Result<()> {
        if let (Event::Apply(Object::Node(node)), Some(addresses)) = (&event, &self.addresses)
            && node.name() == self.node
            && node.addresses() != addresses
        {
            warn!(
                "the addresses of {} have changed: node ports stay on the old ones until a restart",
                self.node
            );
            self.addresses = Some(node.addresses().to_vec());
        }
        match self.engine.take(event) {
            Some(time) => self.seal(time.unwrap_or_else(now)),
            None => Ok(()),
        }
    }

    fn seal(&mut self, now: Timestamp) -> Result<()> {
        match self.engine.seal(now) {
            Sealed::Generation(generation) => {
                if generation == 1 {
                    tell_counts(&self.engine);
                }
                let mut out = BufWriter::new(io::stdout().lock());
                self.printer.print(&mut self.engine, now, &mut out, Some(now))?;
            }
            Sealed::Unchanged(_) => {}
            Sealed::Waiting => {
                let awaited = self.engine.read(|cluster| {
                    let kinds = Kind::ALL.into_iter().filter(|kind| cluster.awaits(*kind));
                    kinds.map(Kind::text).collect::<Vec<_>>().join(", ")
                });
                info!("waits for the first list of {awaited}");
            }
        }
        Ok(())
    }
}

/// Prints generations as they come.
enum Printer<'v> {
    List(&'v mut View),
    Ndjson,
}

impl<'v> Printer<'v> {
    fn new(output: Output, view: &'v mut View) -> Result<Self> {
        match output {
            Output::Table | Output::Wide => Ok(Self::List(view)),
            Output::Ndjson => Ok(Self::Ndjson),
            Output::Json => bail!("--output json prints a whole view; here it is ndjson, one change a line"),
        }
    }

    /// Prints what has not been acknowledged; whether there was anything.
    fn print(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        out: &mut dyn Write,
        title: Option<Timestamp>,
    ) -> Result<bool> {
        let sealed = engine.read(|cluster| cluster.generation());
        let mut any = false;
        match self {
            Self::Ndjson => {
                engine.deliver(now, |delivery| {
                    any = true;
                    match delivery {
                        Delivery::Anew => json::anew(out, sealed),
                        Delivery::Change(change) => json::change(out, sealed, &change),
                    }
                })?;
                if any {
                    json::generation_end(out, sealed)?;
                }
            }
            Self::List(view) => {
                let mut head = |out: &mut dyn Write| match title {
                    Some(time) if !std::mem::replace(&mut any, true) => {
                        writeln!(out, "{} generation {sealed}", seconds(time))
                    }
                    _ => {
                        any = true;
                        Ok(())
                    }
                };
                let mut left_behind: Option<View> = None;
                engine.deliver(now, |delivery| match delivery {
                    Delivery::Anew => {
                        left_behind = Some(std::mem::take(*view));
                        io::Result::Ok(())
                    }
                    Delivery::Change(change) => match view.take(&change) {
                        Some((name, difference)) if left_behind.is_none() => {
                            head(out)?;
                            list::difference(out, &name, &difference)
                        }
                        _ => Ok(()),
                    },
                })?;
                for (name, difference) in left_behind.iter().flat_map(|before| before.differences_to(view)) {
                    head(out)?;
                    list::difference(out, &name, &difference)?;
                }
            }
        }
        out.flush()?;
        Ok(any)
    }
}

/// Without the fraction, which nobody reads.
fn seconds(time: Timestamp) -> String {
    Timestamp::from_nanos(time.nanos() / 1_000_000_000 * 1_000_000_000).to_string()
}

/// The whole view, as it is sealed.
fn whole(engine: &mut Engine, now: Timestamp) -> (u64, View) {
    let mut view = View::default();
    let delivered: Result<u64, Infallible> = engine.deliver(now, |delivery| {
        match delivery {
            Delivery::Anew => view = View::default(),
            Delivery::Change(change) => {
                view.take(&change);
            }
        }
        Ok(())
    });
    match delivered {
        Ok(generation) => (generation, view),
        Err(never) => match never {},
    }
}

struct Loaded {
    unreadable: usize,
    now: Timestamp,
}

/// Reads all there is, once, and seals it.
fn load(engine: &mut Engine, input: &Input, wanted: Wanted) -> Result<Loaded> {
    let mut last = None;
    let mut take = |event| {
        if let Some(time) = engine.take(event) {
            last = time;
            engine.seal(time.unwrap_or_else(now));
        }
    };
    let mut count = 0;
    match input {
        Input::Recording(path) => play_all(path, wanted, &mut take)?,
        Input::Files(paths) => {
            for unreadable in files::read_once(paths, wanted, &mut take) {
                eprintln!("evenkeel: {}: {}", unreadable.path.display(), unreadable.error);
                count += 1;
            }
        }
    }
    tell_counts(engine);
    Ok(Loaded { unreadable: count, now: last.unwrap_or_else(now) })
}

fn play_all(path: &Path, wanted: Wanted, take: &mut dyn FnMut(Event)) -> Result<()> {
    let mut recording = Recording::open(path, wanted).with_context(|| path.display().to_string())?;
    while let Some(step) = recording.step().with_context(|| path.display().to_string())? {
        step.events.into_iter().for_each(&mut *take);
    }
    Ok(())
}

fn tell_counts(engine: &Engine) {
    let counts = engine.counts();
    let text = |counts: &mut dyn Iterator<Item = (&str, u64)>| {
        let parts: Vec<String> = counts.map(|(kind, count)| format!("{kind} {count}")).collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    };
    info!("read {}", text(&mut counts.applied.iter().map(|(kind, count)| (*kind, *count))));
    if !counts.other.is_empty() {
        info!("not needed: {}", text(&mut counts.other.iter().map(|(kind, count)| (kind.as_str(), *count))));
    }
    let (refused, noted) = (counts.refused, counts.noted);
    if refused > 0 || noted > 0 {
        info!("refused {refused}, with something ignored {noted}");
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Settings, resolved.
struct Setup {
    options: Options,
    node: String,
    wanted: Wanted,
}

impl Setup {
    fn new(options: Options, level: LogLevel) -> Result<Self> {
        let options = match &options.config {
            Some(path) => {
                let file = args::read_file(path)?;
                options.or(file)
            }
            None => options,
        };
        log(options.log_format.unwrap_or_default(), options.log_level.unwrap_or(level));
        let node = node(options.node.as_deref())?;
        let source = options.source();
        let wanted =
            Wanted { services: true, slices: source != Source::Pods, pods: source != Source::Slices };
        Ok(Self { options, node, wanted })
    }

    fn output(&self) -> Output {
        self.options.output.unwrap_or_default()
    }

    fn engine(&self, input: &Input, keep_pods: bool) -> Result<Engine> {
        let node_port_addresses = self.node_port_addresses(input)?;
        let started = match input {
            Input::Recording(path) if path.as_os_str() != STDIN => {
                let recording =
                    Recording::open(path, Wanted::NODES).with_context(|| path.display().to_string())?;
                recording.begins().unwrap_or(Timestamp::NONE)
            }
            // A recording on standard input cannot be looked into before it is played.
            Input::Recording(_) => Timestamp::NONE,
            Input::Files(_) => now(),
        };
        let config = Config {
            node: &self.node,
            source: self.options.source(),
            backends: self.options.backends(),
            weight_range: self.options.weight_range.unwrap_or_default(),
            service_proxy_name: self.options.service_proxy_name.as_deref().unwrap_or_default(),
            node_port_addresses: &node_port_addresses,
            families: &[],
            started,
            keep_pods,
        };
        let (limits, chosen) = self.options.limits();
        Ok(Engine::new(limits, chosen, &config)?)
    }

    /// Says so if the view is for a node that nobody knows, which is nearly always a wrong name.
    fn check_node(&self, engine: &Engine) {
        let nodes = engine.counts().applied.get(Kind::Node.text()).copied().unwrap_or_default();
        if nodes > 0 && !engine.node_seen() {
            warn!(
                "{:?} is not among the {nodes} Nodes that were read: nothing is local; --node names another",
                self.node
            );
        }
    }

    /// The own Node's addresses, if node ports depend on them.
    fn own_addresses(&self, input: &Input) -> Result<Option<Vec<Address>>> {
        let settings = self.options.nodeport_addresses.as_deref().unwrap_or_default();
        let depends = settings.iter().any(|setting| NodePorts::parse(setting).is_ok_and(|s| s.asks_node()));
        if !depends {
            return Ok(None);
        }
        Ok(Some(own_node(input, &self.node)?.map(|node| node.addresses().to_vec()).unwrap_or_default()))
    }

    /// `--nodeport-addresses`, resolved. There is no list of this host's interfaces behind it: the view may be for
    /// another node, so the addresses are those that its Node object states, and those given in full.
    fn node_port_addresses(&self, input: &Input) -> Result<Vec<Address>> {
        let settings = self.options.nodeport_addresses.as_deref().unwrap_or_default();
        if settings.is_empty() {
            return Ok(Vec::new());
        }
        let settings: Vec<NodePorts> =
            settings.iter().map(|text| NodePorts::parse(text)).collect::<Result<_>>()?;
        let node =
            if settings.iter().any(NodePorts::asks_node) { own_node(input, &self.node)? } else { None };
        let mut addresses: Vec<Address> = Vec::new();
        for setting in settings {
            match setting {
                NodePorts::Literal(address) => addresses.push(address),
                NodePorts::Within(prefix) => {
                    let all = node.iter().flat_map(decode::Node::addresses);
                    addresses.extend(all.filter(|address| prefix.contains(**address)));
                }
                NodePorts::Primary => {
                    for address in node.iter().flat_map(decode::Node::own_addresses) {
                        if addresses.iter().all(|other| other.family() != address.family()) {
                            addresses.push(*address);
                        }
                    }
                }
            }
        }
        addresses.sort();
        addresses.dedup();
        // None would stand for all of them.
        if addresses.is_empty() {
            bail!(
                "--nodeport-addresses: no address of node {} matches, as far as its Node object says",
                self.node
            );
        }
        if addresses.len() > 16 {
            bail!("--nodeport-addresses: {} addresses match, at most 16 can be served", addresses.len());
        }
        Ok(addresses)
    }
}

/// One of the values of `--nodeport-addresses`.
enum NodePorts {
    Primary,
    Literal(Address),
    Within(Prefix),
}

impl NodePorts {
    fn parse(text: &str) -> Result<Self> {
        if text == "primary" {
            return Ok(Self::Primary);
        }
        let prefix = Prefix::parse(text).with_context(|| {
            format!("--nodeport-addresses: expected primary or a prefix such as 192.0.2.0/24, found {text:?}")
        })?;
        let whole = prefix.length == prefix.address.family().bits();
        Ok(if whole { Self::Literal(prefix.address) } else { Self::Within(prefix) })
    }

    const fn asks_node(&self) -> bool {
        matches!(self, Self::Primary | Self::Within(_))
    }
}

/// Reads the input once for the own Node alone.
fn own_node(input: &Input, name: &str) -> Result<Option<decode::Node>> {
    if input.reads_stdin() {
        bail!(
            "--nodeport-addresses: prefixes need the Node before everything else, and standard input can be read \
             once only; give the addresses in full, as 192.0.2.1/32"
        );
    }
    let mut node = None;
    let mut take = |event| {
        if let Event::Apply(Object::Node(found)) = event
            && found.name() == name
        {
            node = Some(found);
        }
    };
    match input {
        Input::Recording(path) => play_all(path, Wanted::NODES, &mut take)?,
        // What cannot be read is said when all of it is read.
        Input::Files(paths) => {
            files::read_once(paths, Wanted::NODES, &mut take);
        }
    }
    Ok(node)
}

/// The node that the view is for, and where its name comes from.
fn node(given: Option<&str>) -> Result<String> {
    if let Some(node) = given {
        return Ok(node.to_owned());
    }
    if let Ok(node) = std::env::var("NODE_NAME")
        && !node.is_empty()
    {
        info!("node {node}, from NODE_NAME");
        return Ok(node);
    }
    // As the kubelet names its Node when nobody tells it otherwise.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"))
        .context("the name of this host cannot be read; name the node with --node")?;
    let node = host.trim().to_lowercase();
    info!("node {node}, the name of this host");
    Ok(node)
}

fn log(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    let builder = tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(level).with_target(false);
    // A second command in one process (as in tests) keeps the first one's log.
    let _ = match format {
        LogFormat::Text => builder.without_time().with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}
