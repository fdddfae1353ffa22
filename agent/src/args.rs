//! What is asked for: flags, environment, a file, defaults; the first that says something wins.
//!
//! `docs/configuration.md` is the page for people; the names of flags, of environment variables
//! (`EVENKEEL_WEIGHT_RANGE` for `--weight-range`) and of keys in the file are the same.

use clap::{Args, Parser, Subcommand, ValueEnum};
use evenkeel_core::error::Limit;
use evenkeel_core::limits::{Backends, Limits, Source};
use serde::Deserialize;
use std::path::PathBuf;

/// Kubernetes endpoints for load balancers: which VIPs a node must serve, with which backends and weights.
#[derive(Debug, Parser)]
#[command(name = "evenkeel", version, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  evenkeel view --files examples/manifests --node node-a
  kubectl get nodes,services,endpointslices -A -o yaml | evenkeel view --files - --node node-a
  evenkeel view --files cluster.yaml --node node-a --output json
  evenkeel run --files /etc/evenkeel/manifests --node node-a --output ndjson
  evenkeel explain shop/web:http --files examples/manifests --node node-a
  evenkeel diff --from before.yaml --to after.yaml --node node-a

Each option can also be set in the environment (EVENKEEL_NODE for --node) and in a file (--config);
a flag goes before the environment, the environment before the file.";

impl Cli {
    /// Reads the command line; ends the program with advice if it cannot be meant.
    #[must_use]
    pub fn read() -> Self {
        use clap::{CommandFactory, FromArgMatches};
        // One rule at the end says what a line at each option would.
        let command =
            Self::command().mut_subcommands(|command| command.mut_args(|option| option.hide_env(true)));
        Self::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit())
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the node view once: every VIP with its backends and weights
    #[command(after_help = "\
Exit code: 0 if something could be read, 1 if nothing could, or with --strict if anything was wrong.")]
    View(View),
    /// Follow the objects and tell what changes, as it changes
    #[command(after_help = "\
Ends with exit code 0 on SIGINT or SIGTERM, when its output is closed, or at the end of a recording.
A line that begins with + came, with - went, with ~ changed.")]
    Run(Run),
    /// Say of a Service why each endpoint is in or out, and why it has VIPs or not
    #[command(after_help = "\
Exit code: 0 if the Service is known, 1 if it is not.

Examples:
  evenkeel explain shop/web --files examples/manifests --node node-a
  evenkeel explain web:http --files examples/manifests --node node-a")]
    Explain(Explain),
    /// Say what a dataplane would have to do to come from one state to another
    #[command(mut_arg("files", |files| files.hide(true)), mut_arg("replay", |replay| replay.hide(true)), after_help = "\
Exit code, as with diff(1): 0 if nothing differs for this node, 1 if something does, 2 on trouble.")]
    Diff(Diff),
}

/// `evenkeel view`.
#[derive(Debug, Args)]
#[allow(missing_docs, reason = "each is a group of options")]
pub struct View {
    #[command(flatten)]
    pub options: Options,
    /// Exit with 1 if anything was wrong in the input
    #[arg(long)]
    pub strict: bool,
}

/// `evenkeel run`.
#[derive(Debug, Args)]
#[allow(missing_docs, reason = "each is a group of options")]
pub struct Run {
    #[command(flatten)]
    pub options: Options,
    /// Play a recording this many times faster than it was recorded, or as fast as it can be read
    #[arg(long, value_name = "FACTOR|max", default_value = "max")]
    pub speed: Speed,
    /// Play a recording one event at a time, at each press of Enter
    #[arg(long, conflicts_with = "speed")]
    pub step: bool,
}

/// `evenkeel explain`.
#[derive(Debug, Args)]
#[allow(missing_docs, reason = "each is a group of options")]
pub struct Explain {
    /// The Service, and the name or number of one of its ports if only that is meant
    #[arg(value_name = "[NAMESPACE/]SERVICE[:PORT]")]
    pub service: String,
    #[command(flatten)]
    pub options: Options,
}

/// `evenkeel diff`.
#[derive(Debug, Args)]
#[allow(missing_docs, reason = "each is a group of options")]
pub struct Diff {
    /// What the dataplane has: files or folders
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    pub from: Vec<PathBuf>,
    /// What it should have: files or folders
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    pub to: Vec<PathBuf>,
    #[command(flatten)]
    pub options: Options,
    /// Exit with 2 if anything was wrong in the input
    #[arg(long)]
    pub strict: bool,
}

/// Where objects come from.
#[derive(Clone, Debug)]
pub enum Input {
    /// Files and folders.
    Files(Vec<PathBuf>),
    /// A recording.
    Recording(PathBuf),
}

impl Input {
    /// Standard input is part of it: it can be read once only.
    #[must_use]
    pub fn reads_stdin(&self) -> bool {
        let paths = match self {
            Self::Files(paths) => paths.as_slice(),
            Self::Recording(path) => std::slice::from_ref(path),
        };
        paths.iter().any(|path| path.as_os_str() == crate::source::files::STDIN)
    }
}

macro_rules! options {
    ($($(#[$meta:meta])* $name:ident: $type:ty,)*) => {
        /// Settings that may come from a flag, the environment, or the file.
        #[derive(Clone, Debug, Default, Args, Deserialize)]
        #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
        pub struct Options {
            $($(#[$meta])* pub $name: Option<$type>,)*
            /// A file of settings in YAML, with the names of the flags as keys
            #[arg(long, value_name = "FILE", env = "EVENKEEL_CONFIG")]
            #[serde(skip)]
            pub config: Option<PathBuf>,
        }

        impl Options {
            /// What is not said here, as said there.
            #[must_use]
            pub fn or(self, file: Self) -> Self {
                Self { config: self.config, $($name: self.$name.or(file.$name),)* }
            }
        }
    };
}

options! {
    /// Files or folders of Kubernetes objects in YAML or JSON; - is standard input
    #[arg(long, value_name = "PATH", num_args = 1.., value_delimiter = ',', env = "EVENKEEL_FILES")]
    files: Vec<PathBuf>,
    /// A recording of watch events instead of files; - is standard input
    #[arg(long, value_name = "FILE", env = "EVENKEEL_REPLAY")]
    replay: PathBuf,
    /// The node that the view is for; without it NODE_NAME from the environment, else the name of this host
    #[arg(long, value_name = "NAME", env = "EVENKEEL_NODE")]
    node: String,
    /// How to print: table and wide for people, json (the whole view) and ndjson (one change a line) for programs
    #[arg(long, value_enum, value_name = "FORMAT", env = "EVENKEEL_OUTPUT")]
    output: Output,
    /// Where endpoints come from: EndpointSlices, Pods, or slices corrected by the Pods of this node
    #[arg(long, value_enum, value_name = "SOURCE", env = "EVENKEEL_ENDPOINTS")]
    endpoints: Endpoints,
    /// What a backend is: an endpoint, or a node whose weight is the count of its usable endpoints
    #[arg(long, value_enum, value_name = "WHAT", env = "EVENKEEL_BACKENDS")]
    backends: BackendsAre,
    /// Scale the weights behind each VIP to exactly this sum, at most 65535; 0 leaves them as they are
    #[arg(long, value_name = "N", env = "EVENKEEL_WEIGHT_RANGE")]
    weight_range: u16,
    /// Serve Services with this value of the label service.kubernetes.io/service-proxy-name, and no others
    #[arg(long, value_name = "NAME", env = "EVENKEEL_SERVICE_PROXY_NAME")]
    service_proxy_name: String,
    /// Serve node ports on these addresses only: those of the Node within the prefixes given, any address given
    /// as /32 or /128, or "primary" for the Node's first InternalIP of each family
    #[arg(long, value_name = "CIDR,...|primary", value_delimiter = ',', env = "EVENKEEL_NODEPORT_ADDRESSES")]
    nodeport_addresses: Vec<String>,
    /// How to log on standard error
    #[arg(long, value_enum, value_name = "FORMAT", env = "EVENKEEL_LOG_FORMAT")]
    log_format: LogFormat,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_enum, value_name = "LEVEL", env = "EVENKEEL_LOG_LEVEL")]
    log_level: LogLevel,
    /// Room for Services; like every limit it grows by itself unless it is given
    #[arg(long, value_name = "N", env = "EVENKEEL_SERVICES_MAX", help_heading = "Limits", hide_short_help = true)]
    services_max: u32,
    /// Room for Service ports, one for each port, protocol and family
    #[arg(long, value_name = "N", env = "EVENKEEL_PORTS_MAX", help_heading = "Limits", hide_short_help = true)]
    ports_max: u32,
    /// Room for EndpointSlices
    #[arg(long, value_name = "N", env = "EVENKEEL_SLICES_MAX", help_heading = "Limits", hide_short_help = true)]
    slices_max: u32,
    /// Room for endpoints, one for each address and port of a Service
    #[arg(long, value_name = "N", env = "EVENKEEL_ENDPOINTS_MAX", help_heading = "Limits", hide_short_help = true)]
    endpoints_max: u32,
    /// Room for VIPs
    #[arg(long, value_name = "N", env = "EVENKEEL_VIPS_MAX", help_heading = "Limits", hide_short_help = true)]
    vips_max: u32,
    /// Room for Pods
    #[arg(long, value_name = "N", env = "EVENKEEL_PODS_MAX", help_heading = "Limits", hide_short_help = true)]
    pods_max: u32,
    /// Room for named container ports
    #[arg(long, value_name = "N", env = "EVENKEEL_POD_PORTS_MAX", help_heading = "Limits", hide_short_help = true)]
    pod_ports_max: u32,
    /// Room for labels of Pods
    #[arg(long, value_name = "N", env = "EVENKEEL_LABELS_MAX", help_heading = "Limits", hide_short_help = true)]
    labels_max: u32,
    /// Room for pairs of labels that are selected by or carried
    #[arg(long, value_name = "N", env = "EVENKEEL_SELECTORS_MAX", help_heading = "Limits", hide_short_help = true)]
    selectors_max: u32,
    /// Room for Nodes
    #[arg(long, value_name = "N", env = "EVENKEEL_NODES_MAX", help_heading = "Limits", hide_short_help = true)]
    nodes_max: u32,
    /// Room for pairs of a Node and a zone
    #[arg(long, value_name = "N", env = "EVENKEEL_PLACES_MAX", help_heading = "Limits", hide_short_help = true)]
    places_max: u32,
    /// Room for trigger times that wait for their acknowledgement
    #[arg(long, value_name = "N", env = "EVENKEEL_TRIGGERS_MAX", help_heading = "Limits", hide_short_help = true)]
    triggers_max: u32,
    /// Room for distinct texts
    #[arg(long, value_name = "N", env = "EVENKEEL_TEXTS_MAX", help_heading = "Limits", hide_short_help = true)]
    texts_max: u32,
    /// Bytes of all texts
    #[arg(long, value_name = "N", env = "EVENKEEL_TEXT_BYTES_MAX", help_heading = "Limits", hide_short_help = true)]
    text_bytes_max: u32,
}

impl Options {
    /// The limits to begin with, and which of them the operator chose.
    ///
    /// The others begin small and grow when they are reached: the objects are not counted beforehand, since
    /// standard input can be read once only.
    #[must_use]
    pub fn limits(&self) -> (Limits, Vec<Limit>) {
        let mut limits = Limits::for_cluster(64, 512, 16);
        // Room for one cursor and a spare: there is one consumer.
        limits.set(Limit::Cursors, 2);
        if self.source() != Source::Slices {
            limits = limits.with_pods(256);
        }
        let mut chosen = Vec::new();
        for (limit, value) in [
            (Limit::Services, self.services_max),
            (Limit::Ports, self.ports_max),
            (Limit::Slices, self.slices_max),
            (Limit::Endpoints, self.endpoints_max),
            (Limit::Vips, self.vips_max),
            (Limit::Pods, self.pods_max),
            (Limit::PodPorts, self.pod_ports_max),
            (Limit::Labels, self.labels_max),
            (Limit::Selectors, self.selectors_max),
            (Limit::Nodes, self.nodes_max),
            (Limit::Places, self.places_max),
            (Limit::Triggers, self.triggers_max),
            (Limit::Texts, self.texts_max),
            (Limit::TextBytes, self.text_bytes_max),
        ] {
            if let Some(value) = value {
                limits.set(limit, value);
                chosen.push(limit);
            }
        }
        (limits, chosen)
    }

    /// Where objects come from. A recording goes before files, so that one can be played in a place that is set up
    /// for files.
    ///
    /// # Errors
    /// Nobody says.
    pub fn input(&self) -> anyhow::Result<Input> {
        match (&self.replay, &self.files) {
            (Some(recording), _) => Ok(Input::Recording(recording.clone())),
            (None, Some(files)) if !files.is_empty() => Ok(Input::Files(files.clone())),
            _ => anyhow::bail!("where do the objects come from? --files PATH... or --replay FILE says it"),
        }
    }

    /// Where endpoints come from.
    #[must_use]
    pub fn source(&self) -> Source {
        match self.endpoints.unwrap_or_default() {
            Endpoints::Slices => Source::Slices,
            Endpoints::Pods => Source::Pods,
            Endpoints::Overlay => Source::Overlay,
        }
    }

    /// What a backend is.
    #[must_use]
    pub fn backends(&self) -> Backends {
        match self.backends.unwrap_or_default() {
            BackendsAre::Endpoints => Backends::Endpoints,
            BackendsAre::Nodes => Backends::Nodes,
        }
    }
}

/// How to print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// For people
    #[default]
    Table,
    /// The same, with zones, Pods and reasons
    Wide,
    /// The whole view as one JSON value
    Json,
    /// One change a line
    Ndjson,
}

/// Where endpoints come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoints {
    /// EndpointSlices, as kube-proxy
    #[default]
    Slices,
    /// Pods, as the endpoint controllers compute them
    Pods,
    /// EndpointSlices; those of this node are corrected by its Pods
    Overlay,
}

/// What a backend is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendsAre {
    /// Address and port of a Pod
    #[default]
    Endpoints,
    /// A Node
    Nodes,
}

/// How to log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON value a line
    Json,
}

/// How much to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "as everywhere")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How fast to play a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// As fast as it can be read.
    Max,
    /// This many times faster than it was recorded.
    Factor(f64),
}

impl std::str::FromStr for Speed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "max" {
            return Ok(Self::Max);
        }
        match text.parse() {
            Ok(factor) if factor > 0.0 && f64::is_finite(factor) => Ok(Self::Factor(factor)),
            _ => Err("expected max, or a number greater than 0"),
        }
    }
}

/// Reads the file of settings.
///
/// # Errors
/// It cannot be read, or says something that is no setting.
pub fn read_file(path: &std::path::Path) -> anyhow::Result<Options> {
    use anyhow::Context as _;
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let options: Option<Options> =
        crate::decode::from_yaml(&text).with_context(|| path.display().to_string())?;
    Ok(options.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_flag_goes_before_the_file() {
        let flag = Options { node: Some("node-a".to_owned()), ..Options::default() };
        let file = Options { node: Some("node-b".to_owned()), weight_range: Some(256), ..Options::default() };
        let both = flag.or(file);
        assert_eq!((both.node.as_deref(), both.weight_range), (Some("node-a"), Some(256)));
    }

    #[test]
    fn the_file_has_the_names_of_the_flags_and_no_others() {
        let options: Options =
            crate::decode::from_yaml("node: node-a\nweight-range: 256\nendpoints: pods\n").expect("settings");
        assert_eq!(options.endpoints, Some(Endpoints::Pods));
        assert!(crate::decode::from_yaml::<Options>("nodes: node-a\n").is_err());
    }

    #[test]
    fn every_limit_has_a_flag() {
        use clap::CommandFactory;
        let command = Cli::command();
        let view = command.find_subcommand("view").expect("view");
        for (limit, _) in evenkeel_core::storage::BYTES_PER_ROW {
            let flag = crate::engine::flag(limit);
            let known = view.get_arguments().any(|argument| argument.get_long() == flag.strip_prefix("--"));
            assert_eq!(known, limit != Limit::Cursors, "{flag}");
        }
    }

    #[test]
    fn a_speed_is_max_or_a_factor() {
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!("2.5".parse(), Ok(Speed::Factor(2.5)));
        for text in ["0", "-1", "inf", "NaN", "fast", ""] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
    }
}
