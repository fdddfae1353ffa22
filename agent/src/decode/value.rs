//! Small values that say themselves what they expected, so that a refusal names its place.

use evenkeel_core::address::{Address, Family};
use evenkeel_core::object::{ServiceType, TrafficPolicy};
use evenkeel_core::port::Protocol;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use std::fmt;

/// How a JSON or YAML value is named in a refusal.
struct Found<'a>(&'a str);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("an empty text") } else { write!(f, "{:?}", self.0) }
    }
}

/// Reads a number between two bounds.
struct Number {
    expected: &'static str,
    from: u32,
    to: u32,
}

impl Number {
    fn check<N: TryInto<u32> + fmt::Display + Copy, E: Error>(&self, number: N) -> Result<u32, E> {
        number
            .try_into()
            .ok()
            .filter(|n| (self.from..=self.to).contains(n))
            .ok_or_else(|| E::custom(format_args!("expected {}, found {number}", self.expected)))
    }
}

impl Visitor<'_> for Number {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        self.check(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        self.check(number)
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($inner:ty) = $from:literal..=$to:literal, $expected:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        pub(super) struct $name(pub(super) $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                // Not as a number: the YAML reader would refuse another type without a word of ours.
                let number =
                    deserializer.deserialize_any(Number { expected: $expected, from: $from, to: $to })?;
                Ok(Self(<$inner>::try_from(number).unwrap_or_default()))
            }
        }
    )*};
}

numbers! {
    /// A port that is served or dialled.
    Port(u16) = 1..=65535, "a number from 1 to 65535";
    /// A port that may be missing, which older writers spell 0.
    PortOrNone(u16) = 0..=65535, "a number from 0 to 65535";
    /// `sessionAffinityConfig.clientIP.timeoutSeconds`.
    AffinitySeconds(u32) = 1..=86400, "a number from 1 to 86400";
}

/// `targetPort`: a number or a name.
#[derive(Clone)]
pub(super) enum NumberOrName {
    Number(u16),
    Name(String),
}

impl<'de> Deserialize<'de> for NumberOrName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "a number from 1 to 65535, or the name of a port";

        struct Either;

        impl Either {
            fn number<E: Error>(number: impl TryInto<u16> + fmt::Display + Copy) -> Result<NumberOrName, E> {
                match number.try_into() {
                    Ok(number) => Ok(NumberOrName::Number(number)), // 0 is the API's "not stated"
                    Err(_) => Err(E::custom(format_args!("expected {EXPECTED}, found {number}"))),
                }
            }
        }

        impl Visitor<'_> for Either {
            type Value = NumberOrName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<NumberOrName, E> {
                Self::number(number)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<NumberOrName, E> {
                Self::number(number)
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<NumberOrName, E> {
                Ok(NumberOrName::Name(name.to_owned()))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// Reads one of the words that the API has for something.
struct Word<T> {
    expected: &'static str,
    read: fn(&str) -> Option<T>,
}

impl<T> Visitor<'_> for Word<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text)
            .ok_or_else(|| E::custom(format_args!("expected {}, found {}", self.expected, Found(text))))
    }
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident($inner:ty): $expected:literal, $read:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Word { expected: $expected, read: $read }).map(Self)
            }
        }
    )*};
}

words! {
    /// `protocol` of a port.
    WireProtocol(Protocol): "TCP, UDP or SCTP", Protocol::parse;
    /// One of `ipFamilies`.
    IpFamily(Family): "IPv4 or IPv6", Family::parse;
    /// `addressType` of a slice; `None` for host names.
    AddressType(Option<Family>): "IPv4, IPv6 or FQDN", |text| match text {
        "FQDN" => Some(None),
        _ => Family::parse(text).map(Some),
    };
    /// `spec.type` of a Service.
    WireServiceType(ServiceType): "ClusterIP, NodePort, LoadBalancer or ExternalName", |text| match text {
        "" | "ClusterIP" => Some(ServiceType::ClusterIp),
        "NodePort" => Some(ServiceType::NodePort),
        "LoadBalancer" => Some(ServiceType::LoadBalancer),
        "ExternalName" => Some(ServiceType::ExternalName),
        _ => None,
    };
    /// Either traffic policy.
    WirePolicy(TrafficPolicy): "Cluster or Local", |text| match text {
        "" | "Cluster" => Some(TrafficPolicy::Cluster),
        "Local" => Some(TrafficPolicy::Local),
        _ => None,
    };
    /// `sessionAffinity`: whether it is ClientIP.
    ByClientIp(bool): "None or ClientIP", |text| match text {
        "" | "None" => Some(false),
        "ClientIP" => Some(true),
        _ => None,
    };
}

/// A cluster IP: an address, or a word for none.
#[derive(Clone, Copy)]
pub(super) enum ClusterIp {
    /// `None`.
    Headless,
    /// An empty text: not given yet.
    Missing,
    Given(Address),
}

impl<'de> Deserialize<'de> for ClusterIp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Word {
            expected: "an IP address, or None",
            read: |text| match text {
                "None" => Some(Self::Headless),
                "" => Some(Self::Missing),
                _ => Address::parse(text).map(Self::Given),
            },
        })
    }
}

/// Label pairs, each key once: the last one counts, as with the API server.
#[derive(Default)]
pub(super) struct Pairs(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map: std::collections::BTreeMap<String, Option<String>> = Deserialize::deserialize(deserializer)?;
        Ok(Self(map.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect()))
    }
}

/// The first of a list of texts; the others are skipped as they are read.
#[derive(Default)]
pub(super) struct First(pub(super) Option<String>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfList;

        impl<'de> Visitor<'de> for OfList {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First, A::Error> {
                let first = list.next_element()?;
                while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }

            fn visit_unit<E: Error>(self) -> Result<First, E> {
                Err(E::invalid_type(Unexpected::Unit, &self))
            }
        }

        deserializer.deserialize_seq(OfList)
    }
}
