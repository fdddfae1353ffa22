//! The program `evenkeel`: which VIPs a node must serve, from Kubernetes objects.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    evenkeel_agent::run::command(evenkeel_agent::args::Cli::read().command)
}
