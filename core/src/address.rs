//! IP addresses and prefixes: read as tolerantly as the API server reads them, written in one way only.
//!
//! Both families live in 16 octets, IPv4 as `::ffff:a.b.c.d`. So an IPv4-mapped IPv6 address *is* the IPv4
//! address, as it is for Kubernetes (`net.ParseIP`), and two spellings can never be two backends.

use core::cmp::Ordering;
use core::fmt;

/// Address family. IPv4 comes first wherever there is an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "their names say it")]
pub enum Family {
    #[default]
    V4,
    V6,
}

impl Family {
    /// As in `ipFamilies` and `addressType`: `IPv4`, `IPv6`.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// `None` for anything that is not spelled as in the API, `FQDN` included.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "IPv4" => Some(Self::V4),
            "IPv6" => Some(Self::V6),
            _ => None,
        }
    }

    /// Bits of an address: the greatest length of a prefix.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Length of the prefix that IPv4 addresses share: `::ffff:0:0/96`.
const MAPPED_BITS: u8 = 96;

/// An IP address. Ordered by family, IPv4 first, then by octets.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Address([u8; 16]);

impl Address {
    /// All octets zero: `::`. Also what stands where there is no address.
    pub const EMPTY: Self = Self([0; 16]);

    /// From the four octets of an IPv4 address.
    #[must_use]
    pub const fn v4([a, b, c, d]: [u8; 4]) -> Self {
        Self([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d])
    }

    /// From sixteen octets; IPv4-mapped ones are the IPv4 address.
    #[must_use]
    pub const fn v6(octets: [u8; 16]) -> Self {
        Self(octets)
    }

    /// `0.0.0.0` or `::`.
    #[must_use]
    pub const fn unspecified(family: Family) -> Self {
        match family {
            Family::V4 => Self::v4([0; 4]),
            Family::V6 => Self::EMPTY,
        }
    }

    /// Sixteen octets, IPv4 as `::ffff:a.b.c.d`.
    #[must_use]
    pub const fn octets(self) -> [u8; 16] {
        self.0
    }

    /// The four octets of an IPv4 address.
    #[must_use]
    pub const fn v4_octets(self) -> Option<[u8; 4]> {
        match self.0 {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d] => Some([a, b, c, d]),
            _ => None,
        }
    }

    /// Which family it is of.
    #[must_use]
    pub const fn family(self) -> Family {
        match self.v4_octets() {
            Some(_) => Family::V4,
            None => Family::V6,
        }
    }

    /// `0.0.0.0` or `::`.
    #[must_use]
    pub fn is_unspecified(self) -> bool {
        self == Self::unspecified(self.family())
    }

    /// In `127.0.0.0/8`, or `::1`.
    #[must_use]
    pub const fn is_loopback(self) -> bool {
        match self.v4_octets() {
            Some(v4) => matches!(v4, [127, ..]),
            None => matches!(self.0, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        }
    }

    /// In `169.254.0.0/16` or `fe80::/10`.
    #[must_use]
    pub const fn is_link_local(self) -> bool {
        match self.v4_octets() {
            Some(v4) => matches!(v4, [169, 254, ..]),
            None => matches!(self.0, [0xfe, 0x80..=0xbf, ..]),
        }
    }

    /// In `224.0.0.0/4` or `ff00::/8`.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        match self.v4_octets() {
            Some(v4) => matches!(v4, [224..=239, ..]),
            None => matches!(self.0, [0xff, ..]),
        }
    }

    /// Reads what the API server accepts (`ParseIPSloppy`): zeros may lead an octet of IPv4, which stays decimal,
    /// and a group of IPv6; hexadecimal digits may be upper case. Text with a zone (`fe80::1%eth0`) or a blank is
    /// none: only the machine that wrote a zone could say what it means.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.as_bytes();
        match rest.iter().find(|&&byte| byte == b'.' || byte == b':')? {
            b'.' => parse_v4(rest).map(Self::v4),
            _ => parse_v6(rest).map(Self::v6),
        }
    }

    /// The canonical text: dotted decimal, or RFC 5952.
    pub fn text<'b>(&self, buffer: &'b mut [u8; 45]) -> &'b str {
        let mut line = Line::new(buffer);
        match self.v4_octets() {
            Some([a, b, c, d]) => {
                line.decimal(a.into());
                for octet in [b, c, d] {
                    line.byte(b'.');
                    line.decimal(octet.into());
                }
            }
            None => write_v6(self.0, &mut line),
        }
        line.finish()
    }
}

impl Ord for Address {
    fn cmp(&self, other: &Self) -> Ordering {
        self.family().cmp(&other.family()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Address {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text(&mut [0; 45]))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Addresses that share their first `length` bits. Ordered by [`Prefix::to_bytes`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The first address; bits after `length` are zero.
    pub address: Address,
    /// Counted in the family: 0 to 32, or 0 to 128.
    pub length: u8,
}

impl Prefix {
    /// Clears the bits after `length`; `None` if the family has no prefix as long.
    #[must_use]
    pub fn new(address: Address, length: u8) -> Option<Self> {
        let cleared = u128::from_be_bytes(address.0) & mask(address.family(), length)?;
        Some(Self { address: Address(cleared.to_be_bytes()), length })
    }

    /// Reads `10.0.0.0/8`. Bits of the host are cleared; a bare address is none, as for the API server.
    /// A prefix in IPv4-mapped text is the IPv4 prefix, if it is not shorter than the mapping itself.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let is_v6_text = address.contains(':');
        let address = Address::parse(address)?;
        let (length, rest) = number(length.as_bytes(), 10, 128)?;
        if !rest.is_empty() {
            return None;
        }
        let length = u8::try_from(length).ok()?;
        match address.family() {
            Family::V4 if is_v6_text => Self::new(address, length.checked_sub(MAPPED_BITS)?),
            _ => Self::new(address, length),
        }
    }

    /// Whether the address is one of these; never one of the other family.
    #[must_use]
    pub fn contains(&self, address: Address) -> bool {
        let difference = u128::from_be_bytes(self.address.0) ^ u128::from_be_bytes(address.0);
        self.address.family() == address.family()
            && mask(address.family(), self.length).is_some_and(|mask| difference & mask == 0)
    }

    /// The sixteen octets of the address, then the length.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 17] {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.address.0;
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, self.length]
    }

    /// The reverse of [`Prefix::to_bytes`].
    #[must_use]
    pub const fn from_bytes(bytes: &[u8; 17]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, length] = *bytes;
        Self { address: Address([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]), length }
    }
}

impl Ord for Prefix {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_bytes().cmp(&other.to_bytes())
    }
}

impl PartialOrd for Prefix {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The bits that a prefix of this length fixes, the IPv4 mapping included.
fn mask(family: Family, length: u8) -> Option<u128> {
    let free = family.bits().checked_sub(length)?;
    Some(u128::MAX.checked_shl(free.into()).unwrap_or(0)) // ::/0 fixes nothing.
}

/// A number of at least one digit, and what follows it. Any count of leading zeros is fine.
fn number(text: &[u8], radix: u32, max: u32) -> Option<(u32, &[u8])> {
    let (mut value, mut rest) = (0u32, text);
    while let Some((&first, after)) = rest.split_first() {
        let Some(digit) = char::from(first).to_digit(radix) else {
            break;
        };
        value = value.checked_mul(radix)?.checked_add(digit)?;
        if value > max {
            return None;
        }
        rest = after;
    }
    (rest.len() < text.len()).then_some((value, rest))
}

// Below, places are counted with `zip(0..n)`: `enumerate` contains an addition that can panic in builds that check it.

/// Dotted decimal, all of the text.
fn parse_v4(text: &[u8]) -> Option<[u8; 4]> {
    let mut octets = [0; 4];
    let mut rest = text;
    for (octet, at) in octets.iter_mut().zip(0..4u8) {
        if at > 0 {
            rest = rest.strip_prefix(b".")?;
        }
        let (value, after) = number(rest, 10, 255)?;
        *octet = u8::try_from(value).ok()?;
        rest = after;
    }
    rest.is_empty().then_some(octets)
}

/// Groups of hexadecimal digits, `::` at most once and for at least one group, dotted decimal as the last two.
fn parse_v6(text: &[u8]) -> Option<[u8; 16]> {
    let (mut head, mut tail) = (Groups::default(), Groups::default());
    let mut gap = false;
    let mut rest = text;
    if let Some(after) = rest.strip_prefix(b"::") {
        (gap, rest) = (true, after);
    }
    while !rest.is_empty() {
        let groups = if gap { &mut tail } else { &mut head };
        let (value, after) = number(rest, 16, 0xffff)?;
        if after.first() == Some(&b'.') {
            let [a, b, c, d] = parse_v4(rest)?;
            groups.push(u16::from_be_bytes([a, b]))?;
            groups.push(u16::from_be_bytes([c, d]))?;
            break;
        }
        groups.push(u16::try_from(value).ok()?)?;
        if after.is_empty() {
            break;
        }
        rest = after.strip_prefix(b":")?;
        if let Some(after) = rest.strip_prefix(b":") {
            if gap {
                return None;
            }
            (gap, rest) = (true, after);
        } else if rest.is_empty() {
            return None; // It ends in a single colon.
        }
    }
    let given = head.count.saturating_add(tail.count);
    if gap { given < 8 } else { given == 8 }.then_some(())?;
    // What stands after the gap is counted from the end.
    let shift = 8usize.saturating_sub(tail.count);
    let mut octets = [0; 16];
    for (pair, at) in octets.as_chunks_mut::<2>().0.iter_mut().zip(0..8usize) {
        let group = match at.checked_sub(shift) {
            Some(at) if gap => tail.groups.get(at),
            _ => head.groups.get(at),
        };
        *pair = group.copied().unwrap_or_default().to_be_bytes();
    }
    Some(octets)
}

/// The groups on one side of `::`.
#[derive(Default)]
struct Groups {
    groups: [u16; 8],
    count: usize,
}

impl Groups {
    fn push(&mut self, group: u16) -> Option<()> {
        *self.groups.get_mut(self.count)? = group;
        self.count = self.count.saturating_add(1);
        Some(())
    }
}

/// RFC 5952: lower case, no leading zeros, `::` for the longest run of two or more zero groups, the first of equals.
fn write_v6(octets: [u8; 16], line: &mut Line<'_>) {
    let mut groups = [0; 8];
    for (group, &pair) in groups.iter_mut().zip(octets.as_chunks::<2>().0) {
        *group = u16::from_be_bytes(pair);
    }
    let (mut gap_start, mut gap_length) = (8, 1);
    let mut run = 0usize;
    for (&group, at) in groups.iter().zip(0..8usize) {
        run = if group == 0 { run.saturating_add(1) } else { 0 };
        if run > gap_length {
            gap_length = run;
            gap_start = at.saturating_add(1).saturating_sub(run);
        }
    }
    let gap_end = gap_start.saturating_add(gap_length);
    for (&group, at) in groups.iter().zip(0..8usize) {
        if at == gap_start {
            line.byte(b':');
            if gap_end == 8 {
                line.byte(b':');
            }
        }
        if (gap_start..gap_end).contains(&at) {
            continue;
        }
        if at > 0 {
            line.byte(b':');
        }
        line.hexadecimal(group);
    }
}

/// ASCII text growing in a lent buffer. `core::fmt` would do, but its machinery can panic and is large; a dataplane
/// that only wants an address as text should not have to link it.
pub(crate) struct Line<'b> {
    buffer: &'b mut [u8],
    length: usize,
}

impl<'b> Line<'b> {
    pub(crate) fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, length: 0 }
    }

    /// What does not fit is left out; callers bring buffers that cannot be too small.
    pub(crate) fn byte(&mut self, byte: u8) {
        if let Some(place) = self.buffer.get_mut(self.length) {
            *place = byte;
            self.length = self.length.saturating_add(1);
        }
    }

    /// Without leading zeros.
    pub(crate) fn decimal(&mut self, value: u64) {
        let mut unit = 1u64;
        while value.checked_div(unit).is_some_and(|rest| rest >= 10) {
            unit = unit.saturating_mul(10);
        }
        self.digits(value, unit);
    }

    /// Digits from that of `unit`, a power of ten, down to the ones.
    pub(crate) fn digits(&mut self, value: u64, unit: u64) {
        let mut unit = unit;
        while let Some(digit) = value.checked_div(unit) {
            self.byte(b'0'.saturating_add(u8::try_from(digit % 10).unwrap_or_default()));
            unit /= 10;
        }
    }

    fn hexadecimal(&mut self, value: u16) {
        let mut started = false;
        for shift in [12u32, 8, 4, 0] {
            let digit = u8::try_from(value.wrapping_shr(shift) & 0xf).unwrap_or_default();
            started |= digit != 0 || shift == 0;
            if started {
                self.byte(if digit < 10 {
                    b'0'.saturating_add(digit)
                } else {
                    b'a'.saturating_add(digit.saturating_sub(10))
                });
            }
        }
    }

    pub(crate) fn finish(self) -> &'b str {
        let buffer: &'b [u8] = self.buffer;
        buffer.get(..self.length).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the text is written back as; `-` if it is no address.
    #[track_caller]
    fn address(text: &str, want: &str) {
        let got = Address::parse(text);
        let written = got.map_or("-".to_string(), |address| address.to_string());
        assert_eq!(written, want, "{text}");
        if let Some(address) = got {
            assert_eq!(Address::parse(&written), Some(address), "{text} read back");
        }
    }

    #[test]
    fn ipv4_is_dotted_decimal_and_leading_zeros_stay_decimal() {
        address("192.0.2.7", "192.0.2.7");
        address("192.000.002.010", "192.0.2.10");
        address("0.0.0.0", "0.0.0.0");
        address("255.255.255.255", "255.255.255.255");
        for refused in [
            "256.0.2.1",
            "192.0.2",
            "192.0.2.1.5",
            "192.0.2.",
            ".192.0.2",
            "192..2.1",
            "0x1.0.2.1",
            "-1.0.2.1",
            "192.0.2.1/32",
        ] {
            address(refused, "-");
        }
    }

    #[test]
    fn ipv6_is_written_as_rfc_5952_says() {
        address("2001:0DB8:0000:0000:0000:0000:0000:0001", "2001:db8::1");
        address("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1");
        address("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1");
        address("2001:0:0:1:0:0:0:1", "2001:0:0:1::1");
        address("::", "::");
        address("::1", "::1");
        address("1::", "1::");
        address("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0");
        address("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8");
        address("64:ff9b::192.0.2.33", "64:ff9b::c000:221");
        address("1:2:3:4:5:6:192.0.2.33", "1:2:3:4:5:6:c000:221");
        address("::00001", "::1");
        address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        for refused in [
            ":",
            ":::",
            "1:",
            ":1",
            "1:::2",
            "1::2::3",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4::5:6:7:8",
            "::1:2:3:4:5:6:7:8",
            "1::2:",
            "12345::",
            "g::",
            "1:2:3:4:5:6:7:192.0.2.1",
            "::192.0.2.1:1",
            "::192.0.2",
            "192.0.2.1::",
        ] {
            address(refused, "-");
        }
    }

    #[test]
    fn an_ipv4_mapped_address_is_the_ipv4_address() {
        address("::ffff:192.0.2.7", "192.0.2.7");
        address("::FFFF:c000:0207", "192.0.2.7");
        assert_eq!(Address::v6(Address::v4([192, 0, 2, 7]).octets()), Address::v4([192, 0, 2, 7]));
        assert_eq!(Address::v4([192, 0, 2, 7]).family(), Family::V4);
    }

    #[test]
    fn zones_blanks_and_names_are_no_addresses() {
        for refused in [
            "",
            " ",
            "fe80::1%eth0",
            " 192.0.2.7",
            "192.0.2.7 ",
            "web",
            "localhost.localdomain",
            "192.0.2.7\n",
            "１.0.0.1",
        ] {
            address(refused, "-");
        }
    }

    #[test]
    fn ipv4_comes_before_ipv6_and_then_octets_decide() {
        let mut all =
            ["::1", "192.0.2.10", "192.0.2.9", "::", "2001:db8::1"].map(|text| Address::parse(text).unwrap());
        all.sort();
        assert_eq!(format!("{all:?}"), "[192.0.2.9, 192.0.2.10, ::, ::1, 2001:db8::1]");
    }

    #[test]
    fn addresses_that_mean_something_are_known() {
        let of = |text: &str| {
            let a = Address::parse(text).unwrap();
            [a.is_unspecified(), a.is_loopback(), a.is_link_local(), a.is_multicast()].map(u8::from)
        };
        assert_eq!(of("0.0.0.0"), [1, 0, 0, 0]);
        assert_eq!(of("::"), [1, 0, 0, 0]);
        assert_eq!(of("127.3.2.1"), [0, 1, 0, 0]);
        assert_eq!(of("::1"), [0, 1, 0, 0]);
        assert_eq!(of("169.254.0.1"), [0, 0, 1, 0]);
        assert_eq!(of("febf::1"), [0, 0, 1, 0]);
        assert_eq!(of("fec0::1"), [0, 0, 0, 0]);
        assert_eq!(of("224.0.0.1"), [0, 0, 0, 1]);
        assert_eq!(of("240.0.0.1"), [0, 0, 0, 0]);
        assert_eq!(of("ff02::1"), [0, 0, 0, 1]);
        assert_eq!(of("192.0.2.7"), [0, 0, 0, 0]);
        assert_eq!(Address::default(), Address::unspecified(Family::V6));
    }

    /// Every pattern of zero groups, against the standard library's RFC 5952.
    #[test]
    fn the_gap_is_where_the_standard_library_puts_it() {
        for zeros in 0..=255u8 {
            let mut octets = [0u8; 16];
            for (at, pair) in octets.chunks_mut(2).enumerate() {
                if zeros & (1 << at) == 0 {
                    pair.copy_from_slice(&[at as u8, 0xa0]);
                }
            }
            assert_eq!(Address::v6(octets).to_string(), std::net::Ipv6Addr::from(octets).to_string());
        }
    }

    #[track_caller]
    fn prefix(text: &str, want: &str) {
        assert_eq!(Prefix::parse(text).map_or("-".to_string(), |prefix| prefix.to_string()), want, "{text}");
    }

    #[test]
    fn bits_of_the_host_are_cleared() {
        prefix("10.1.2.3/8", "10.0.0.0/8");
        prefix("192.0.2.7/32", "192.0.2.7/32");
        prefix("192.0.2.7/0", "0.0.0.0/0");
        prefix("2001:db8:1::7/33", "2001:db8::/33");
        prefix("2001:db8::/0", "::/0");
        prefix("::ffff:10.1.2.3/104", "10.0.0.0/8");
    }

    #[test]
    fn a_length_belongs_to_a_family() {
        for refused in [
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0.0/8 ",
            "::/129",
            "::ffff:10.0.0.0/8",
            "/8",
            "10.0.0.0/8/8",
        ] {
            prefix(refused, "-");
        }
    }

    #[test]
    fn a_prefix_contains_addresses_of_its_family_only() {
        let contains = |prefix: &str, address: &str| {
            Prefix::parse(prefix).unwrap().contains(Address::parse(address).unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.255.0.1"));
        assert!(!contains("10.0.0.0/8", "11.0.0.1"));
        assert!(contains("0.0.0.0/0", "192.0.2.7"));
        assert!(!contains("::/0", "192.0.2.7"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1"));
        assert!(contains("2001:db8::/127", "2001:db8::1"));
        assert!(!contains("2001:db8::/127", "2001:db8::2"));
    }

    #[test]
    fn a_prefix_survives_its_bytes() {
        for text in ["10.0.0.0/8", "::/0", "0.0.0.0/0", "2001:db8::/32"] {
            let prefix = Prefix::parse(text).unwrap();
            assert_eq!(Prefix::from_bytes(&prefix.to_bytes()), prefix);
        }
    }
}
