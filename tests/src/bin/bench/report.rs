//! The figures as tables.

use std::fmt::Write;
use std::process::Command;

use evenkeel_core::Cluster;
use evenkeel_core::limits::Limits;
use evenkeel_core::storage::{self, HeapStorage};

use crate::input::Case;
use crate::measure::Cost;
use crate::peer::Reading;

/// One kind of work at one size.
pub(crate) struct Line {
    pub(crate) work: &'static str,
    pub(crate) case: Case,
    pub(crate) cost: Cost,
    pub(crate) peer: Option<Reading>,
}

/// What a cluster of one size costs in memory. Exact: it is what the storage was made of.
pub(crate) struct Memory {
    case: Case,
    source: &'static str,
    /// The whole, as the limits ask for it.
    bytes: usize,
    tables: Vec<TableUse>,
}

struct TableUse {
    name: &'static str,
    count: u32,
    limit: u32,
    bytes_per_row: usize,
}

impl Memory {
    pub(crate) fn of(case: Case, source: &'static str, cluster: &Cluster<'_>, limits: &Limits) -> Self {
        let row =
            |limit| storage::BYTES_PER_ROW.iter().find(|(of, _)| *of == limit).map_or(0, |(_, bytes)| *bytes);
        let tables = cluster
            .usage()
            .map(|(limit, count, most)| TableUse {
                name: limit.name(),
                count,
                limit: most,
                bytes_per_row: row(limit),
            })
            .collect();
        Self { case, source, bytes: HeapStorage::size(limits), tables }
    }

    /// Bytes of the rows in use.
    fn used(&self) -> usize {
        self.tables.iter().map(|table| table.count as usize * table.bytes_per_row).sum()
    }
}

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) lines: Vec<Line>,
    pub(crate) memory: Vec<Memory>,
}

/// `812 ns`, `4.31 µs`, `12.3 ms`.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// `12,345`.
fn number(n: usize) -> String {
    grouped(&n.to_string())
}

/// The same of a figure with a fraction, which is rounded.
fn rounded(value: f64) -> String {
    grouped(&format!("{value:.0}"))
}

fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn ratio(a: f64, b: f64) -> String {
    let value = a / b;
    if value < 10.0 { format!("{value:.2}") } else { rounded(value) }
}

type Cells = Vec<Vec<String>>;

impl Report {
    pub(crate) fn allocations(&self) -> u64 {
        self.lines.iter().map(|line| line.cost.allocations).sum()
    }

    fn works(&self) -> Vec<&'static str> {
        let mut works: Vec<&str> = Vec::new();
        for line in &self.lines {
            if !works.contains(&line.work) {
                works.push(line.work);
            }
        }
        works
    }

    /// Times: one line for each kind of work and size; growth is against the size before.
    fn times(&self) -> Cells {
        let peers = self.lines.iter().any(|line| line.peer.is_some());
        let mut head = vec!["work", "Services x endpoints", "best", "median", "growth", "allocations"];
        if peers {
            head.extend(["kube-proxy", "ratio", "kube-proxy allocates"]);
        }
        let mut cells = vec![head.into_iter().map(String::from).collect::<Vec<_>>()];
        for work in self.works() {
            // Another shape is not one size further.
            let mut before: Option<&Line> = None;
            for line in self.lines.iter().filter(|line| line.work == work) {
                let best = line.cost.best();
                let mut row = vec![
                    work.to_string(),
                    format!("{} x {}", number(line.case.services), number(line.case.pods_per_service)),
                    time(best),
                    time(line.cost.median()),
                    before
                        .filter(|before| before.case.services < line.case.services)
                        .map_or(String::new(), |before| format!("x {}", ratio(best, before.cost.best()))),
                    line.cost.allocations.to_string(),
                ];
                if let Some(peer) = line.peer {
                    row.push(time(peer.cpu_ns));
                    row.push(format!("1/{}", ratio(peer.cpu_ns, best)));
                    row.push(format!("{} bytes", rounded(peer.allocated)));
                } else if peers {
                    row.extend([String::new(), String::new(), String::new()]);
                }
                cells.push(row);
                before = Some(line);
            }
        }
        cells
    }

    /// Memory of each size, and what upstream keeps for the same.
    fn sizes(&self) -> Cells {
        let head = [
            "source",
            "Services x endpoints",
            "bytes lent",
            "in rows",
            "lent an endpoint",
            "kube-proxy keeps",
        ];
        let mut cells = vec![head.map(String::from).to_vec()];
        for memory in &self.memory {
            let endpoints = memory.case.endpoints();
            let peer = self.lines.iter().filter(|line| line.case == memory.case);
            let kept = peer.filter_map(|line| line.peer?.kept).next().filter(|_| memory.source == "slices");
            cells.push(vec![
                memory.source.to_string(),
                format!("{} x {}", number(memory.case.services), number(memory.case.pods_per_service)),
                number(memory.bytes),
                number(memory.used()),
                number(memory.bytes / endpoints),
                kept.map_or(String::new(), |kept| format!("{} an endpoint", rounded(kept))),
            ]);
        }
        cells
    }

    /// Bytes for a row of each table, and the rows in use at each size.
    fn tables(&self) -> Cells {
        let Some(first) = self.memory.first() else { return Vec::new() };
        let mut head = vec!["limit".to_string(), "bytes a row".to_string()];
        head.extend(self.memory.iter().map(|m| format!("{} {}", m.source, m.case.size())));
        let mut cells = vec![head];
        for (at, table) in first.tables.iter().enumerate() {
            let mut row = vec![table.name.to_string(), table.bytes_per_row.to_string()];
            row.extend(self.memory.iter().map(|memory| {
                let table = &memory.tables[at];
                format!("{} of {}", number(table.count as usize), number(table.limit as usize))
            }));
            cells.push(row);
        }
        cells
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (title, cells) in self.all() {
            _ = writeln!(text, "\n{title}\n");
            let widths = widths(&cells);
            for row in &cells {
                for (at, cell) in row.iter().enumerate() {
                    let padding = " ".repeat(widths[at] - cell.chars().count());
                    // The first column is words, the others are figures.
                    _ = if at == 0 {
                        write!(text, "{cell}{padding}")
                    } else {
                        write!(text, "  {padding}{cell}")
                    };
                }
                text.push('\n');
            }
        }
        text.push('\n');
        text
    }

    pub(crate) fn markdown(&self) -> String {
        let command: Vec<String> = std::env::args().skip(1).collect();
        let mut text = format!("{}; `bench {}`; {}.\n", machine(), command.join(" "), today());
        for (title, cells) in self.all() {
            _ = writeln!(text, "\n{title}\n");
            for (at, row) in cells.iter().enumerate() {
                _ = writeln!(text, "| {} |", row.join(" | "));
                if at == 0 {
                    let rule: Vec<&str> =
                        (0..row.len()).map(|at| if at == 0 { "---" } else { "---:" }).collect();
                    _ = writeln!(text, "| {} |", rule.join(" | "));
                }
            }
        }
        text.push('\n');
        text
    }

    fn all(&self) -> [(&'static str, Cells); 3] {
        [
            ("CPU time of one operation; growth is against the size above.", self.times()),
            ("Memory.", self.sizes()),
            ("Rows: bytes of each, and how many are in use.", self.tables()),
        ]
    }
}

fn widths(cells: &Cells) -> Vec<usize> {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    (0..columns)
        .map(|at| {
            cells.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect()
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{}, {cores} cores, {} {}",
        model.unwrap_or("unknown CPU"),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

fn today() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(["812 ns", "4.31 µs", "12.3 ms", "241 ms"], [812.0, 4_310.0, 12.34e6, 241.2e6].map(time));
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(["7", "1,000", "44,000", "1,234,567"], [7, 1_000, 44_000, 1_234_567].map(number));
    }
}
