//! Kubernetes objects as they are written, to the plain values that core takes. Pure.
//!
//! Every field is optional and null is tolerated, since API servers send `"endpoints": null`; what is not known
//! is skipped as it is read. What happens to odd input:
//!
//! | input | outcome |
//! |---|---|
//! | text that is not UTF-8; broken YAML or JSON | that document is refused |
//! | a name or namespace that is missing, too long, or has a slash | the object is refused |
//! | a port, protocol, policy, family or cluster IP that cannot be meant | the object is refused |
//! | `loadBalancerSourceRanges` with something that is no prefix | the object is refused: leaving it out could open the VIP to everybody |
//! | an address with leading zeros in an octet (`192.0.02.7`) | read as decimal, as Kubernetes does |
//! | an endpoint, external or ingress address with a zone (`fe80::1%eth0`), or that is none | that address is left out, and noted |
//! | an endpoint or Pod address that is unspecified, loopback, link-local or multicast | that address is left out, and noted: Kubernetes refuses these in Endpoints |
//! | an endpoint address of another family than its slice | that endpoint is left out, and noted |
//! | a slice port without a number or a name | left out, as kube-proxy does; the missing name is noted, since an API server would have set `""` |
//! | `clusterIP` empty or `None` | the Service has no VIP |
//! | an annotation that cannot be meant | ignored, and noted |
//! | no `namespace` | `default`, as with kubectl |
//!
//! "Refused" costs one object, of which the last good state stays; "noted" is [`Object::notes`].

pub mod annotation;
mod metadata;
mod node;
mod pod;
mod service;
mod slice;
mod value;

use evenkeel_core::error::Error as CoreError;
use evenkeel_core::{Applied, Cluster, Kind};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

pub use node::Node;
pub use pod::Pod;
pub use service::Service;
pub use slice::EndpointSlice;

/// A Kubernetes object that is needed here, decoded.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in the API")]
pub enum Object {
    Service(Service),
    EndpointSlice(EndpointSlice),
    Pod(Pod),
    Node(Node),
}

/// What `apiVersion` and `kind` announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// An object that is needed here.
    One(Kind),
    /// A list, and the kind of those of its items that do not say.
    List(Option<Kind>),
    /// Nothing that is needed here.
    Other,
}

impl Announced {
    /// An absent `apiVersion` is tolerated, as in items of a typed list.
    #[must_use]
    pub fn from_type(api_version: &str, kind: &str) -> Self {
        let v1 = matches!(api_version, "v1" | "");
        let discovery = matches!(api_version, "discovery.k8s.io/v1" | "");
        match kind {
            "Service" if v1 => Self::One(Kind::Service),
            "Pod" if v1 => Self::One(Kind::Pod),
            "Node" if v1 => Self::One(Kind::Node),
            "EndpointSlice" if discovery => Self::One(Kind::Slice),
            "List" if v1 => Self::List(None),
            "ServiceList" if v1 => Self::List(Some(Kind::Service)),
            "PodList" if v1 => Self::List(Some(Kind::Pod)),
            "NodeList" if v1 => Self::List(Some(Kind::Node)),
            "EndpointSliceList" if discovery => Self::List(Some(Kind::Slice)),
            _ => Self::Other,
        }
    }
}

/// `apiVersion` and `kind`.
#[derive(serde::Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Type<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) kind: Option<Cow<'a, str>>,
}

impl Object {
    /// Decodes one object, whose kind it must say itself.
    ///
    /// # Errors
    /// [`Error`] says what was expected where; [`Error::is_other_kind`] if it is nothing that is needed here.
    pub fn from_value(value: Value) -> Result<Self, Error> {
        let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
        match Announced::from_type(text("apiVersion"), text("kind")) {
            Announced::One(kind) => {
                let names = Names::of_value(kind, &value);
                let decoded = match kind {
                    Kind::Service => from_deserializer::<service::Wire, _>(value),
                    Kind::Slice => from_deserializer::<slice::Wire, _>(value),
                    Kind::Pod => from_deserializer::<pod::Wire, _>(value),
                    Kind::Node => from_deserializer::<node::Wire, _>(value),
                };
                decoded.map_err(|refusal| Error::of(names, refusal))
            }
            Announced::List(_) | Announced::Other => Err(Error::other(text("kind"))),
        }
    }

    /// Decodes JSON text of an object of that kind.
    pub(crate) fn from_json(kind: Kind, text: &str) -> Result<Self, Error> {
        match kind {
            Kind::Service => json::<service::Wire>(kind, text),
            Kind::Slice => json::<slice::Wire>(kind, text),
            Kind::Pod => json::<pod::Wire>(kind, text),
            Kind::Node => json::<node::Wire>(kind, text),
        }
    }

    /// Decodes YAML text of an object of that kind.
    pub(crate) fn from_yaml(kind: Kind, text: &str) -> Result<Self, Error> {
        match kind {
            Kind::Service => yaml::<service::Wire>(kind, text),
            Kind::Slice => yaml::<slice::Wire>(kind, text),
            Kind::Pod => yaml::<pod::Wire>(kind, text),
            Kind::Node => yaml::<node::Wire>(kind, text),
        }
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Service(_) => Kind::Service,
            Self::EndpointSlice(_) => Kind::Slice,
            Self::Pod(_) => Kind::Pod,
            Self::Node(_) => Kind::Node,
        }
    }

    /// `metadata.namespace`; empty for a Node.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self {
            Self::Service(service) => &service.namespace,
            Self::EndpointSlice(slice) => &slice.namespace,
            Self::Pod(pod) => &pod.namespace,
            Self::Node(_) => "",
        }
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Service(service) => &service.name,
            Self::EndpointSlice(slice) => &slice.name,
            Self::Pod(pod) => &pod.name,
            Self::Node(node) => &node.name,
        }
    }

    /// What was left out or ignored.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        match self {
            Self::Service(service) => &service.notes,
            Self::EndpointSlice(slice) => &slice.notes,
            Self::Pod(pod) => &pod.notes,
            Self::Node(node) => &node.notes,
        }
    }

    /// Adds it to the cluster, or replaces what had its name.
    ///
    /// # Errors
    /// As [`Cluster`]'s verbs.
    pub fn apply(&self, cluster: &mut Cluster<'_>) -> Result<Applied, CoreError> {
        match self {
            Self::Service(service) => service.lend(|service| cluster.apply_service(service)),
            Self::EndpointSlice(slice) => slice.lend(|slice| cluster.apply_slice(slice)),
            Self::Pod(pod) => pod.lend(|pod| cluster.apply_pod(pod)),
            Self::Node(node) => node.lend(|node| cluster.apply_node(node)),
        }
    }

    /// Takes what has its name from the cluster; whether it was there.
    pub fn delete(&self, cluster: &mut Cluster<'_>) -> bool {
        delete(cluster, self.kind(), self.namespace(), self.name())
    }
}

/// Takes the object of that name from the cluster; whether it was there.
pub fn delete(cluster: &mut Cluster<'_>, kind: Kind, namespace: &str, name: &str) -> bool {
    match kind {
        Kind::Service => cluster.delete_service(namespace, name),
        Kind::Slice => cluster.delete_slice(namespace, name),
        Kind::Pod => cluster.delete_pod(namespace, name),
        Kind::Node => cluster.delete_node(name),
    }
}

/// An object as it is written, before it is checked.
trait Wire: DeserializeOwned {
    fn check(self) -> Result<Object, Refusal>;
}

/// What was refused, and where in the object.
struct Refusal {
    path: String,
    expected: String,
    /// Counted from the first line of the text, which is 1.
    line: Option<u64>,
}

impl Refusal {
    fn new(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), expected: expected.into(), line: None }
    }

    fn name(path: &str, found: &str, max: usize) -> Self {
        let expected = if found.is_empty() {
            "expected a name, found none".to_owned()
        } else if found.len() > max {
            format!("expected at most {max} bytes, found {}", found.len())
        } else {
            format!("expected a name without slashes and control characters, found {found:?}")
        };
        Self::new(path, expected)
    }

    /// A refusal by a reader of text, at the path where it happened.
    fn from_reader(path: &serde_path_to_error::Path, message: &str) -> Self {
        // Where a key could not be read, the path ends in a question mark.
        let path = path.to_string();
        let path = path.trim_end_matches(['.', '?']);
        Self::new(path, plain(message))
    }
}

/// What a reader of text expected, in words of those who write manifests and not of those who write readers.
pub(crate) fn plain(message: &str) -> String {
    let of_type =
        ["invalid type: ", "invalid value: "].iter().find_map(|opening| message.strip_prefix(opening));
    if let Some((found, expected)) = of_type.and_then(|rest| rest.rsplit_once(", expected ")) {
        let expected = match expected {
            "a sequence" => "a list",
            "a map" => "a mapping",
            "a boolean" => "true or false",
            "a string" => "a text",
            _ if expected.starts_with("struct ") => "a mapping",
            other => other,
        };
        let found = match found {
            "map" => "a mapping",
            "sequence" => "a list",
            "null" => "nothing",
            other => other,
        };
        return format!("expected {expected}, found {found}");
    }
    match message {
        "invalid boolean" => "expected true or false".to_owned(),
        "expected sequence start" => "expected a list".to_owned(),
        "expected mapping start" => "expected a mapping".to_owned(),
        _ if message.starts_with("budget breached") => {
            "expected a document that can be meant: with its aliases it is too large".to_owned()
        }
        _ => match message.strip_prefix("duplicate mapping key: ").and_then(|rest| rest.split_once(", set "))
        {
            Some((key, _)) => format!("expected each key once, found {key} twice"),
            None => message.to_owned(),
        },
    }
}

fn from_deserializer<'de, W: Wire, D>(deserializer: D) -> Result<Object, Refusal>
where
    D: serde::Deserializer<'de, Error = serde_json::Error>,
{
    let wire: W = serde_path_to_error::deserialize(deserializer)
        .map_err(|error| Refusal::from_reader(error.path(), &without_position(error.inner())))?;
    wire.check()
}

// The path of a refusal is found by reading once more, so that what is good does not pay for it.

fn json<W: Wire>(kind: Kind, text: &str) -> Result<Object, Error> {
    let refusal = match serde_json::from_str::<W>(text) {
        Ok(wire) => match wire.check() {
            Ok(object) => return Ok(object),
            Err(refusal) => refusal,
        },
        Err(error) => {
            let again =
                serde_path_to_error::deserialize::<_, W>(&mut serde_json::Deserializer::from_str(text));
            let mut refusal = match again {
                Err(error) => Refusal::from_reader(error.path(), &without_position(error.inner())),
                Ok(_) => Refusal::new("", plain(&without_position(&error))),
            };
            refusal.line = u64::try_from(error.line()).ok().filter(|line| *line > 0);
            refusal
        }
    };
    Err(Error::of(Names::of_json(kind, text), refusal))
}

fn yaml<W: Wire>(kind: Kind, text: &str) -> Result<Object, Error> {
    let refusal = match from_yaml::<W>(text) {
        Ok(wire) => match wire.check() {
            Ok(object) => return Ok(object),
            Err(refusal) => refusal,
        },
        Err(error) => {
            let mut refusal = Refusal::new("", plain(&yaml_message(&error)));
            // `with_deserializer` gives back one error type only, hence the way out by a variable.
            let mut found = None;
            let _: Result<(), _> =
                serde_saphyr::with_deserializer_from_str_with_options(text, yaml_options(), |deserializer| {
                    if let Err(error) = serde_path_to_error::deserialize::<_, W>(deserializer) {
                        found = Some(Refusal::from_reader(error.path(), &yaml_message(error.inner())));
                    }
                    Ok(())
                });
            if let Some(found) = found {
                refusal = found;
            }
            refusal.line = error.location().map(|location| location.line());
            refusal
        }
    };
    Err(Error::of(Names::of_yaml(kind, text), refusal))
}

/// Reads one YAML document.
pub(crate) fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, yaml_options())
}

/// What one object may hold: twice the largest EndpointSlice, of 1,000 endpoints with everything said of each.
/// It stops documents that grow through their aliases.
const YAML_NODES_MAX: usize = 100_000;

fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! { max_nodes: YAML_NODES_MAX },
    }
}

/// Without "line 3 column 7: ", which is said once, for the whole file.
pub(crate) fn yaml_message(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let first = text.lines().next().unwrap_or_default();
    match first.rsplit_once(" at line ") {
        Some((message, _)) => message.to_owned(),
        None => first.to_owned(),
    }
}

/// Without " at line 1 column 7".
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((message, _)) => message.to_owned(),
        None => text,
    }
}

/// Whose object was refused, as far as that can still be read.
#[derive(Clone, Debug, Default)]
struct Names {
    kind: Option<Kind>,
    namespace: String,
    name: Option<String>,
}

impl Names {
    fn of_value(kind: Kind, value: &Value) -> Self {
        let text = |key| value.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str);
        Self::new(kind, text("namespace").map(str::to_owned), text("name").map(str::to_owned))
    }

    fn of_json(kind: Kind, text: &str) -> Self {
        Self::of_named(kind, serde_json::from_str(text).unwrap_or_default())
    }

    fn of_yaml(kind: Kind, text: &str) -> Self {
        Self::of_named(kind, from_yaml(text).unwrap_or_default())
    }

    fn of_named(kind: Kind, named: Named) -> Self {
        let metadata = named.metadata.unwrap_or_default();
        Self::new(kind, metadata.namespace, metadata.name)
    }

    fn new(kind: Kind, namespace: Option<String>, name: Option<String>) -> Self {
        let namespace = match (kind, namespace) {
            (Kind::Node, _) => String::new(),
            (_, Some(namespace)) if !namespace.is_empty() => namespace,
            _ => "default".to_owned(),
        };
        Self { kind: Some(kind), namespace, name }
    }
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Named {
    metadata: Option<NamedMetadata>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct NamedMetadata {
    namespace: Option<String>,
    name: Option<String>,
}

/// Why an object was refused.
#[derive(Clone, Debug)]
pub struct Error(Box<Refused>);

/// What is seldom needed stands aside, so that what is nearly always good is not carried around it.
#[derive(Clone, Debug)]
struct Refused {
    names: Names,
    is_other_kind: bool,
    path: String,
    expected: String,
    line: Option<u64>,
}

impl Error {
    fn of(names: Names, refusal: Refusal) -> Self {
        let Refusal { path, expected, line } = refusal;
        Self(Box::new(Refused { names, is_other_kind: false, path, expected, line }))
    }

    fn other(kind: &str) -> Self {
        Self(Box::new(Refused {
            names: Names::default(),
            is_other_kind: true,
            path: "kind".to_owned(),
            expected: format!("expected Service, EndpointSlice, Pod or Node, found {kind:?}"),
            line: None,
        }))
    }

    /// It is not broken, only nothing that is needed here.
    #[must_use]
    pub const fn is_other_kind(&self) -> bool {
        self.0.is_other_kind
    }

    /// Kind, namespace and name of the refused object, if they could be read.
    #[must_use]
    pub fn object(&self) -> Option<(Kind, &str, &str)> {
        let names = &self.0.names;
        Some((names.kind?, names.namespace.as_str(), names.name.as_deref()?))
    }

    /// The field that was refused, as `spec.ports[0].port`; empty for the whole object.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The line of the text on which reading stopped, the first being 1.
    #[must_use]
    pub const fn line(&self) -> Option<u64> {
        self.0.line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { names, path, expected, .. } = &*self.0;
        if let Some(kind) = names.kind {
            f.write_str(kind.text())?;
            if let Some(name) = &names.name {
                let slash = if names.namespace.is_empty() { "" } else { "/" };
                write!(f, " {}{slash}{name}", names.namespace)?;
            }
            f.write_str(": ")?;
        }
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(expected)
    }
}

impl std::error::Error for Error {}

/// Something of an object that was left out or ignored, while the object counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    path: String,
    what: String,
}

impl Note {
    fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }

    fn ignored(path: impl Into<String>, expected: &str, found: &str) -> Self {
        Self::new(path, format!("ignored: expected {expected}, found {found:?}"))
    }

    fn annotation(key: &str, expected: &str, found: &str) -> Self {
        Self::ignored(format!("metadata.annotations[{key}]"), expected, found)
    }

    /// The field that was left out or ignored.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

#[cfg(test)]
mod tests;
