//! Descriptors, tickets and criteria: bytes that anyone can send, read without trust.
//!
//! Commands, tickets and criteria are messages of the contract inside a `google.protobuf.Any`. A ticket
//! says everything a server needs to answer it, so that any server can; it grants nothing, and every field
//! is checked again.

use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use bytes::Bytes;
use omnigraph_engine::Snapshot;
use omnigraph_engine::error::{Error, Reason, Result};
use omnigraph_engine::model::TypeRef;
use omnigraph_proto::v1;
use omnigraph_proto::v1::read_selector::Selector;
use prost::{Message, Name};
use prost_types::Any;

use crate::convert::{entity, invalid, required};

/// The meaning of tickets of this release.
const FORMAT: u32 = 1;

/// What a descriptor asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    /// A scan, said in full.
    Scan(Box<v1::ScanCommand>),
    /// All of one type, by path.
    All {
        /// Graph id.
        graph: String,
        /// Branch name.
        branch: String,
        /// The type: its name, or `node:Name` or `edge:Name`.
        name: String,
    },
}

impl Wanted {
    /// The graph it is about.
    pub(super) fn graph(&self) -> &str {
        match self {
            Self::Scan(command) => &command.graph,
            Self::All { graph, .. } => graph,
        }
    }

    /// The version it is about.
    pub(super) fn selector(&self) -> Option<v1::ReadSelector> {
        match self {
            Self::Scan(command) => command.selector.clone(),
            Self::All { branch, .. } => Some(v1::ReadSelector { selector: Some(Selector::Branch(branch.clone())) }),
        }
    }

    /// The scan, once the version's types are known.
    ///
    /// # Errors
    /// [`Reason::TypeNotFound`], or [`Reason::InvalidArgument`] for a name that a node and an edge type
    /// have.
    pub(super) fn into_scan(self, snapshot: &Snapshot) -> Result<v1::ScanCommand> {
        match self {
            Self::Scan(command) => Ok(*command),
            Self::All { graph, name, .. } => {
                let type_ref = by_name(snapshot, &name)?;
                Ok(v1::ScanCommand {
                    graph,
                    kind: entity::kind_to_proto(type_ref.kind),
                    type_name: type_ref.name,
                    ..v1::ScanCommand::default()
                })
            }
        }
    }
}

/// The one type that a path names.
fn by_name(snapshot: &Snapshot, name: &str) -> Result<TypeRef> {
    if let Some(type_ref) = TypeRef::parse(name) {
        return Ok(snapshot.ty(&type_ref)?.type_ref());
    }
    let (node, edge) = (snapshot.ty(&TypeRef::node(name)), snapshot.ty(&TypeRef::edge(name)));
    match (node, edge) {
        (Ok(_), Ok(_)) => {
            Err(invalid("path[2]", format!("{name:?} is a node and an edge type; say node:{name} or edge:{name}")))
        }
        (Ok(ty), Err(_)) | (Err(_), Ok(ty)) => Ok(ty.type_ref()),
        (Err(e), Err(_)) => Err(e),
    }
}

/// The path of a type, as short as it can be.
pub(super) fn path_name(snapshot: &Snapshot, type_ref: &TypeRef) -> String {
    match by_name(snapshot, &type_ref.name) {
        Ok(found) if found == *type_ref => type_ref.name.clone(),
        _ => type_ref.to_string(),
    }
}

/// What a descriptor asks for.
///
/// # Errors
/// [`Reason::InvalidTicket`] for a descriptor that this server does not understand,
/// [`Reason::InvalidArgument`] for one that lacks something.
pub(super) fn wanted(descriptor: &FlightDescriptor) -> Result<Wanted> {
    match DescriptorType::try_from(descriptor.r#type) {
        Ok(DescriptorType::Cmd) => {
            let command: v1::ScanCommand = unwrap(&descriptor.cmd, "command")?;
            required("graph", &command.graph)?;
            Ok(Wanted::Scan(Box::new(command)))
        }
        Ok(DescriptorType::Path) => match descriptor.path.as_slice() {
            [graph, branch, name] => {
                required("path[0]", graph)?;
                required("path[2]", name)?;
                let (graph, branch, name) = (graph.clone(), branch.clone(), name.clone());
                Ok(Wanted::All { graph, branch, name })
            }
            other => Err(refused(&format!("a path is [graph, branch, type], and this one has {} parts", other.len()))),
        },
        _ => Err(refused("a descriptor is a path or a command, and this one is neither")),
    }
}

/// The load that a descriptor announces.
///
/// # Errors
/// [`Reason::InvalidTicket`].
pub(super) fn load(descriptor: &FlightDescriptor) -> Result<v1::LoadCommand> {
    match DescriptorType::try_from(descriptor.r#type) {
        Ok(DescriptorType::Cmd) => unwrap(&descriptor.cmd, "command"),
        _ => Err(refused("an upload is announced by a command, which holds a LoadCommand")),
    }
}

/// What flights to list; nothing said means all.
///
/// # Errors
/// [`Reason::InvalidTicket`] for bytes that are no criteria, [`Reason::InvalidArgument`] for a branch
/// without a graph.
pub(super) fn criteria(bytes: &Bytes) -> Result<v1::ListFlightsCriteria> {
    if bytes.is_empty() {
        return Ok(v1::ListFlightsCriteria::default());
    }
    let criteria: v1::ListFlightsCriteria = unwrap(bytes, "criteria")?;
    if criteria.graph.is_empty() && !criteria.branch.is_empty() {
        return Err(invalid("graph", "must be set if a branch is"));
    }
    Ok(criteria)
}

/// The bytes of a ticket.
pub(super) fn write(ticket: &v1::ScanTicket) -> Bytes {
    let any = Any { type_url: v1::ScanTicket::type_url(), value: ticket.encode_to_vec() };
    any.encode_to_vec().into()
}

/// A ticket from its bytes, with every field set that has to be.
///
/// # Errors
/// [`Reason::InvalidTicket`].
pub(super) fn read(bytes: &Bytes) -> Result<v1::ScanTicket> {
    let ticket: v1::ScanTicket = unwrap(bytes, "ticket")?;
    if ticket.format_version != FORMAT {
        return Err(refused(&format!("unknown ticket format {}", ticket.format_version)));
    }
    let command = ticket.command.as_ref().ok_or_else(|| refused("the ticket has no scan"))?;
    if ticket.graph.is_empty() || ticket.commit_id.is_empty() || ticket.manifest_version == 0 {
        return Err(refused("the ticket lacks its graph or its version"));
    }
    if command.graph != ticket.graph {
        return Err(refused("the ticket's scan is of another graph"));
    }
    Ok(ticket)
}

/// The ticket of one part of a scan of this version.
pub(super) fn issue(snapshot: &Snapshot, command: &v1::ScanCommand, fragments: Vec<u64>) -> v1::ScanTicket {
    v1::ScanTicket {
        format_version: FORMAT,
        graph: command.graph.clone(),
        manifest_branch: snapshot.branch.lance_branch.clone().unwrap_or_default(),
        manifest_version: snapshot.version,
        commit_id: snapshot.head().to_string(),
        command: Some(command.clone()),
        fragments,
    }
}

/// A message of the contract from its envelope.
fn unwrap<M: Message + Name + Default>(bytes: &Bytes, what: &str) -> Result<M> {
    let any = Any::decode(bytes.clone());
    let any = any.map_err(|_| refused(&format!("the {what} is not a message wrapped in google.protobuf.Any")))?;
    any.to_msg::<M>().map_err(|_| {
        let found = if any.type_url.is_empty() { "nothing that has a type" } else { any.type_url.as_str() };
        refused(&format!("the {what} must hold a readable {}, and holds {found}", M::full_name()))
    })
}

/// The error for bytes that this server does not understand.
pub(super) fn refused(problem: &str) -> Error {
    Error::new(Reason::InvalidTicket, format!("{problem}; plan the scan again")).with("problem", problem)
}

#[cfg(test)]
mod tests;
