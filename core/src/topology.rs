//! Whether hints keep this node's flows near: kube-proxy's topology mode.

use crate::reason::Reason;
use crate::usable::Counts;

/// Which hints are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// None: every ready endpoint will do.
    #[default]
    Anywhere,
    /// Only endpoints with a hint for this node.
    Node,
    /// Only endpoints with a hint for this node's zone.
    Zone,
}

/// The mode that the hints of a port's ready endpoints give (`kube-proxy topology`, KEP-2433, KEP-3015).
///
/// All or none: one ready endpoint without hints makes them void, and so does a set of hints of which none is
/// meant for us. Endpoints that are not ready are not asked. No annotation is read.
#[must_use]
pub const fn mode(counts: &Counts) -> Mode {
    if counts.ready == 0 {
        Mode::Anywhere
    } else if counts.node_hinted == counts.ready && counts.names_node > 0 {
        Mode::Node
    } else if counts.zone_hinted == counts.ready && counts.names_zone > 0 {
        Mode::Zone
    } else {
        Mode::Anywhere
    }
}

/// Why it is that mode.
#[must_use]
pub const fn reason(counts: &Counts) -> Reason {
    match mode(counts) {
        Mode::Node => Reason::HintsNode,
        Mode::Zone => Reason::HintsZone,
        Mode::Anywhere if counts.ready == 0 => Reason::HintsNoReady,
        Mode::Anywhere if counts.node_hinted == 0 && counts.zone_hinted == 0 => Reason::HintsAbsent,
        Mode::Anywhere if counts.node_hinted == counts.ready || counts.zone_hinted == counts.ready => {
            Reason::HintsElsewhere
        }
        Mode::Anywhere => Reason::HintsIncomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_READY: Counts = Counts { total: 2, ready: 2, ..Counts::NONE };

    #[test]
    fn one_endpoint_without_hints_makes_them_void() {
        let counts = Counts { zone_hinted: 1, names_zone: 1, ..TWO_READY };
        assert_eq!((mode(&counts), reason(&counts)), (Mode::Anywhere, Reason::HintsIncomplete));
    }

    #[test]
    fn hints_for_other_zones_only_are_ignored() {
        let counts = Counts { zone_hinted: 2, ..TWO_READY };
        assert_eq!((mode(&counts), reason(&counts)), (Mode::Anywhere, Reason::HintsElsewhere));
    }

    #[test]
    fn node_hints_come_before_zone_hints() {
        let zones = Counts { zone_hinted: 2, names_zone: 2, ..TWO_READY };
        assert_eq!(mode(&zones), Mode::Zone);
        assert_eq!(mode(&Counts { node_hinted: 2, names_node: 1, ..zones }), Mode::Node);
        assert_eq!(mode(&Counts { node_hinted: 1, names_node: 1, ..zones }), Mode::Zone);
    }

    #[test]
    fn without_ready_endpoints_nobody_is_asked() {
        let counts = Counts { total: 1, draining: 1, ..Counts::NONE };
        assert_eq!((mode(&counts), reason(&counts)), (Mode::Anywhere, Reason::HintsNoReady));
    }
}
