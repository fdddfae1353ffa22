//! How far a number has come, byte by byte.

/// Named after what has come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Begin,
    Minus,
    /// A zero that nothing stands before.
    Zero,
    Digits,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    /// A number may end here.
    pub(super) const fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Digits | Self::Fraction | Self::Exponent)
    }

    const fn step(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Begin, b'-') => Self::Minus,
            (Self::Begin | Self::Minus, b'0') => Self::Zero,
            (Self::Begin | Self::Minus | Self::Digits, b'0'..=b'9') => Self::Digits,
            (Self::Zero | Self::Digits, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Digits | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    /// The bytes that go on with the number, what it is then, and the rest.
    pub(super) fn split(self, bytes: &[u8]) -> (Self, &[u8], &[u8]) {
        let (mut number, mut rest) = (self, bytes);
        while let Some((&byte, after)) = rest.split_first()
            && let Some(next) = number.step(byte)
        {
            (number, rest) = (next, after);
        }
        let length = bytes.len().wrapping_sub(rest.len());
        (number, bytes.get(..length).unwrap_or(&[]), rest)
    }
}
