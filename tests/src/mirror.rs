//! A consumer: what a dataplane holds after the changes that it pulled, and whether they kept the contract.

use std::collections::BTreeMap;

use evenkeel_core::address::Family;
use evenkeel_core::change::{Change, PortName, ServiceName, VipKind};
use evenkeel_core::cluster::CursorId;
use evenkeel_core::error::Error;
use evenkeel_core::port::Protocol;
use evenkeel_core::{Cluster, address::Address};

use crate::row::{BackendRow, Port, Socket, VipRow, line};

/// What a dataplane holds. Keyed as a dataplane is: one VIP for an address, port and protocol.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    vips: BTreeMap<(Socket, String), VipRow>,
    backends: BTreeMap<(Port, Socket), BackendRow>,
    ids: BTreeMap<u32, Port>,
    group: Group,
}

/// The changes of one Service that have been seen and not ended yet.
#[derive(Clone, Debug, Default)]
struct Group {
    service: Option<String>,
    last: Option<Place>,
}

/// Where a change stands among those of its Service: kind, port, for VIPs their kind, address, number.
type Place = (u8, String, Protocol, Family, Option<VipKind>, Address, u16);

impl Mirror {
    /// Takes one change; a message if it breaks what `change` promises.
    ///
    /// # Errors
    /// Changes out of order, of two Services between one another, or with a row number that two ports share.
    pub fn apply(&mut self, change: &Change<'_>) -> Result<(), String> {
        self.check_order(change).map_err(|why| format!("{why}: {}", line(change)))?;
        match change {
            Change::Vip(vip) => {
                let row = VipRow::from_core(vip);
                self.check_id(vip.id.get(), &row.port)?;
                let before = self.vips.insert((row.at, row.port.protocol.clone()), row.clone());
                if let Some(before) = before.filter(|before| before.port != row.port) {
                    self.forget_id(&before.port);
                }
            }
            Change::Backend(backend) => {
                let row = BackendRow::from_core(backend);
                self.check_id(backend.id.get(), &row.port)?;
                self.backends.insert((row.port.clone(), row.at), row);
            }
            Change::BackendGone(gone) => {
                let port = Port::from_core(&gone.port());
                self.check_id(gone.id.get(), &port)?;
                self.backends.remove(&(port.clone(), Socket::from_core(gone.address, gone.number)));
                self.forget_id(&port);
            }
            Change::VipGone(gone) => {
                let port = Port::from_core(&gone.port());
                self.check_id(gone.id.get(), &port)?;
                let key = (Socket::from_core(gone.address, gone.number), port.protocol.clone());
                if let Some(before) = self.vips.remove(&key).filter(|before| before.port != port) {
                    self.forget_id(&before.port);
                }
                self.forget_id(&port);
            }
            Change::ServiceEnd(_) => self.group = Group::default(),
        }
        Ok(())
    }

    /// The changes of a Service stand together, in the order that `change` promises, each once.
    fn check_order(&mut self, change: &Change<'_>) -> Result<(), String> {
        let service = owner(&service(change));
        if self.group.service.as_ref().is_some_and(|open| *open != service) {
            return Err("a change of one Service among those of another".to_owned());
        }
        self.group.service = Some(service);
        let Some(place) = place(change) else { return Ok(()) };
        if self.group.last.as_ref().is_some_and(|last| *last >= place) {
            return Err("out of order, or twice".to_owned());
        }
        self.group.last = Some(place);
        Ok(())
    }

    /// A row number may name another port only when nothing is left of the one that it named.
    fn check_id(&mut self, id: u32, port: &Port) -> Result<(), String> {
        if let Some(named) = self.ids.get(&id).filter(|named| *named != port) {
            return Err(format!("row number {id} names {port} while it still names {named}"));
        }
        if let Some((other, _)) = self.ids.iter().find(|(other, named)| **other != id && *named == port) {
            return Err(format!("{port} has row number {id} while it still has {other}"));
        }
        self.ids.insert(id, port.clone());
        Ok(())
    }

    /// A port of which nothing is left has no row number any more.
    fn forget_id(&mut self, port: &Port) {
        if !self.vips.values().any(|row| row.port == *port) && !self.backends.keys().any(|(of, _)| of == port)
        {
            self.ids.retain(|_, named| named != port);
        }
    }

    /// Forgets everything, as a consumer does that was left behind.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// A new generation was sealed: the changes of a Service that were not pulled to their end come anew.
    pub fn interrupt(&mut self) {
        self.group = Group::default();
    }

    /// VIPs, by address.
    pub fn vips(&self) -> impl Iterator<Item = &VipRow> {
        self.vips.values()
    }

    /// Backends, by port and address.
    pub fn backends(&self) -> impl Iterator<Item = &BackendRow> {
        self.backends.values()
    }

    /// Everything as lines: port by port, VIPs before backends.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut ports: BTreeMap<&Port, Vec<String>> = BTreeMap::new();
        for row in self.vips.values() {
            ports.entry(&row.port).or_default().push(row.to_string());
        }
        for row in self.backends.values() {
            ports.entry(&row.port).or_default().push(row.to_string());
        }
        ports.into_values().flatten().collect()
    }
}

fn owner(service: &ServiceName<'_>) -> String {
    format!("{}/{}", service.namespace, service.name)
}

fn service<'c>(change: &Change<'c>) -> ServiceName<'c> {
    match change {
        Change::Vip(vip) => vip.port().service,
        Change::Backend(backend) => backend.port().service,
        Change::BackendGone(gone) => gone.port().service,
        Change::VipGone(gone) => gone.port().service,
        Change::ServiceEnd(end) => end.service(),
    }
}

fn place(change: &Change<'_>) -> Option<Place> {
    let place = |rank, port: &PortName<'_>, kind, address, number| {
        Some((rank, port.name.to_owned(), port.protocol, port.family, kind, address, number))
    };
    match change {
        Change::Vip(vip) => place(0, &vip.port(), Some(vip.kind), vip.address, vip.number),
        Change::Backend(backend) => place(1, &backend.port(), None, backend.address, backend.number),
        Change::BackendGone(gone) => place(2, &gone.port(), None, gone.address, gone.number),
        Change::VipGone(gone) => place(3, &gone.port(), Some(gone.kind), gone.address, gone.number),
        Change::ServiceEnd(_) => None,
    }
}

/// Pulls everything that a cursor has not acknowledged into a mirror; the changes as lines.
///
/// # Errors
/// The cursor is stale, or a change broke the contract.
pub fn pull(cluster: &mut Cluster<'_>, cursor: CursorId, mirror: &mut Mirror) -> Result<Vec<String>, Pull> {
    pull_some(cluster, cursor, mirror, usize::MAX).map(|(lines, _)| lines)
}

/// The same, but no more than `count` changes; and whether that was all.
///
/// # Errors
/// As [`pull`].
pub fn pull_some(
    cluster: &mut Cluster<'_>,
    cursor: CursorId,
    mirror: &mut Mirror,
    count: usize,
) -> Result<(Vec<String>, bool), Pull> {
    let mut lines = Vec::new();
    while lines.len() < count {
        let Some(change) = cluster.next(cursor).map_err(Pull::Refused)? else {
            if mirror.group.service.is_some() {
                return Err(Pull::Broken("the changes of the last Service have no end".to_owned()));
            }
            return Ok((lines, true));
        };
        lines.push(line(&change));
        mirror.apply(&change).map_err(Pull::Broken)?;
    }
    Ok((lines, false))
}

/// Why a pull did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pull {
    /// The cluster said so.
    Refused(Error),
    /// A change broke what `change` promises.
    Broken(String),
}
