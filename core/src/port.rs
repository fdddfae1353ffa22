//! Protocols.

/// Transport protocol of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "spelled as in the API")]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    /// As in the API: `TCP`, `UDP`, `SCTP`.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }

    /// Empty is TCP, the API's default; `None` for anything else that is not spelled as in the API.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "TCP" => Some(Self::Tcp),
            "UDP" => Some(Self::Udp),
            "SCTP" => Some(Self::Sctp),
            _ => None,
        }
    }
}
