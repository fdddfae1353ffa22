//! Objects into a cluster, as Kubernetes' JSON, through the agent's decoder.

use evenkeel_agent::decode::Object;
use evenkeel_core::error::Error;
use evenkeel_core::object::{Node, Pod, Service};
use evenkeel_core::{Applied, Cluster, Kind};
use serde_json::Value;

/// Every kind that a cluster may be fed with.
pub const KINDS: [Kind; 4] = Kind::ALL;

/// Why an object did not go in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It could not be read.
    Undecodable(String),
    /// The cluster would not have it.
    ByCluster(Error),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Undecodable(why) => f.write_str(why),
            Self::ByCluster(why) => why.fmt(f),
        }
    }
}

/// Reads an object.
///
/// # Errors
/// It is none that the decoder knows, or cannot be read.
pub fn decode(object: &Value) -> Result<Object, Refused> {
    Object::from_value(object.clone()).map_err(|why| Refused::Undecodable(why.to_string()))
}

/// Applies an object.
///
/// # Errors
/// It cannot be read, or the cluster refuses it.
pub fn apply(cluster: &mut Cluster<'_>, object: &Value) -> Result<Applied, Refused> {
    decode(object)?.apply(cluster).map_err(Refused::ByCluster)
}

/// Deletes an object; whether it was there.
///
/// # Errors
/// It cannot be read.
pub fn delete(cluster: &mut Cluster<'_>, object: &Value) -> Result<bool, Refused> {
    Ok(decode(object)?.delete(cluster))
}

/// Gives these objects as the complete first lists of every kind; the names of those that the cluster does not
/// look at.
///
/// # Errors
/// One of them cannot be read, or is refused.
pub fn list<'o>(
    cluster: &mut Cluster<'_>,
    objects: impl IntoIterator<Item = &'o Value>,
) -> Result<Vec<String>, Refused> {
    let mut ignored = Vec::new();
    for kind in KINDS {
        cluster.relist_begin(kind);
    }
    for object in objects {
        if let Applied::Ignored(_) = apply(cluster, object)? {
            ignored.push(object["metadata"]["name"].as_str().unwrap_or("").to_owned());
        }
    }
    for kind in KINDS {
        cluster.relist_end(kind);
    }
    Ok(ignored)
}

/// The same object with its kind written in, for lists that leave it out.
#[must_use]
pub fn of_kind(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        let version = if kind == "EndpointSlice" { "discovery.k8s.io/v1" } else { "v1" };
        fields.entry("kind").or_insert_with(|| kind.into());
        fields.entry("apiVersion").or_insert_with(|| version.into());
    }
    object
}

/// Asks something of a Service, as core takes it. Its kind need not be written in.
///
/// # Panics
/// It cannot be read.
pub fn with_service<T>(service: &Value, ask: impl FnOnce(&Service<'_>) -> T) -> T {
    match decode(&of_kind("Service", service)) {
        Ok(Object::Service(service)) => service.lend(ask),
        other => panic!("a Service, not {other:?}"),
    }
}

/// Asks something of a Pod, as core takes it.
///
/// # Panics
/// It cannot be read.
pub fn with_pod<T>(pod: &Value, ask: impl FnOnce(&Pod<'_>) -> T) -> T {
    match decode(&of_kind("Pod", pod)) {
        Ok(Object::Pod(pod)) => pod.lend(ask),
        other => panic!("a Pod, not {other:?}"),
    }
}

/// Asks something of a Node, as core takes it.
///
/// # Panics
/// It cannot be read.
pub fn with_node<T>(node: &Value, ask: impl FnOnce(&Node<'_>) -> T) -> T {
    match decode(&of_kind("Node", node)) {
        Ok(Object::Node(node)) => node.lend(ask),
        other => panic!("a Node, not {other:?}"),
    }
}
