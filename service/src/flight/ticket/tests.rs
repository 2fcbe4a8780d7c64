//! Tickets come back whole; whatever else is sent is refused, and nothing panics.

use super::*;
use omnigraph_engine::format::commit_row::{self, CommitExtras};
use omnigraph_engine::manifest::BranchIdentity;
use omnigraph_engine::manifest::snapshot::table_row;
use omnigraph_engine::model::{Actor, CommitInfo};

fn snapshot() -> Snapshot {
    let source = "node Person { slug: String @key } node Both { a: Bool? } edge Both: Person -> Both {} edge Knows: Person -> Person {}";
    let schema = omnigraph_engine::schema::parse(source).unwrap();
    let mut rows: Vec<_> = schema.types.iter().map(|ty| table_row(ty).unwrap()).collect();
    let commit = CommitInfo {
        id: "C".into(),
        parents: Vec::new(),
        branch: "b".into(),
        actor: Actor::default(),
        created_at: 0,
        message: String::new(),
        request_id: String::new(),
        operation: "init".into(),
        counts: Vec::new(),
        manifest_version: 9,
        lance_branch: Some("L".into()),
        merge: None,
        imported: None,
    };
    rows.push(commit_row::encode(&commit, &CommitExtras::default()).unwrap());
    let identity = BranchIdentity { name: "b".into(), branch_id: "B".into(), lance_branch: Some("L".into()) };
    Snapshot::from_rows(identity, 9, &rows).unwrap()
}

fn command() -> v1::ScanCommand {
    v1::ScanCommand { graph: "social".into(), kind: 1, type_name: "Person".into(), ..Default::default() }
}

fn any(message: &impl Name) -> Bytes {
    Any { type_url: full_url(message), value: message.encode_to_vec() }.encode_to_vec().into()
}

fn full_url<M: Name>(_: &M) -> String {
    M::type_url()
}

#[test]
fn tickets_come_back_and_pin_the_version() {
    let issued = issue(&snapshot(), &command(), vec![3, u64::MAX]);
    assert_eq!((issued.manifest_branch.as_str(), issued.manifest_version, issued.commit_id.as_str()), ("L", 9, "C"));
    assert_eq!(read(&write(&issued)).unwrap(), issued);
}

#[test]
fn tickets_that_lack_something_are_refused() {
    let good = issue(&snapshot(), &command(), Vec::new());
    let other = v1::ScanCommand { graph: "other".into(), ..command() };
    for bad in [
        v1::ScanTicket { format_version: 0, ..good.clone() },
        v1::ScanTicket { format_version: 2, ..good.clone() },
        v1::ScanTicket { command: None, ..good.clone() },
        v1::ScanTicket { command: Some(other), ..good.clone() },
        v1::ScanTicket { graph: String::new(), ..good.clone() },
        v1::ScanTicket { commit_id: String::new(), ..good.clone() },
        v1::ScanTicket { manifest_version: 0, ..good },
    ] {
        assert_eq!(read(&write(&bad)).unwrap_err().reason(), Reason::InvalidTicket);
    }
}

#[test]
fn no_bytes_break_the_reading_of_tickets() {
    let whole = write(&issue(&snapshot(), &command(), vec![1, 2, 3]));
    for end in 0..whole.len() {
        assert_eq!(read(&whole.slice(..end)).unwrap_err().reason(), Reason::InvalidTicket, "cut at {end}");
    }
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.to_vec();
            bytes[at] = value;
            // It may still be a ticket; it must not be a panic.
            let _ = read(&bytes.into());
        }
    }
    let foreign = any(&v1::LoadCommand::default());
    assert_eq!(read(&foreign).unwrap_err().reason(), Reason::InvalidTicket);
    assert_eq!(criteria(&foreign).unwrap_err().reason(), Reason::InvalidTicket);
}

#[test]
fn descriptors_are_paths_or_commands() {
    let path = |parts: &[&str]| FlightDescriptor::new_path(parts.iter().map(ToString::to_string).collect());
    let named = wanted(&path(&["social", "a/b", "Person"])).unwrap();
    assert_eq!(named.graph(), "social");
    assert_eq!(named.selector().unwrap().selector, Some(Selector::Branch("a/b".into())));
    let scan = wanted(&FlightDescriptor::new_cmd(any(&command()))).unwrap();
    assert_eq!(scan, Wanted::Scan(Box::new(command())));

    for bad in [path(&[]), path(&["g", "b"]), path(&["g", "b", "T", "x"]), FlightDescriptor::default()] {
        assert_eq!(wanted(&bad).unwrap_err().reason(), Reason::InvalidTicket);
    }
    for lacking in [path(&["", "b", "T"]), path(&["g", "b", ""])] {
        assert_eq!(wanted(&lacking).unwrap_err().reason(), Reason::InvalidArgument);
    }
    for bytes in [Bytes::new(), Bytes::from_static(b"SELECT 1"), any(&v1::LoadCommand::default())] {
        assert_eq!(wanted(&FlightDescriptor::new_cmd(bytes)).unwrap_err().reason(), Reason::InvalidTicket);
    }
    let nameless = FlightDescriptor::new_cmd(any(&v1::ScanCommand::default()));
    assert_eq!(wanted(&nameless).unwrap_err().reason(), Reason::InvalidArgument);
    assert!(load(&path(&["g", "b", "T"])).is_err());
    assert!(load(&FlightDescriptor::new_cmd(any(&v1::LoadCommand::default()))).is_ok());
}

#[test]
fn paths_find_the_type_of_either_kind() {
    let snapshot = snapshot();
    let find = |name: &str| {
        let wanted = Wanted::All { graph: "g".into(), branch: String::new(), name: name.into() };
        wanted.into_scan(&snapshot).map(|c| (c.kind, c.type_name))
    };
    assert_eq!(find("Person").unwrap(), (1, "Person".into()));
    assert_eq!(find("knows").unwrap(), (2, "Knows".into()));
    assert_eq!(find("edge:Both").unwrap(), (2, "Both".into()));
    assert_eq!(find("Both").unwrap_err().reason(), Reason::InvalidArgument);
    assert_eq!(find("Nothing").unwrap_err().reason(), Reason::TypeNotFound);
    assert_eq!(path_name(&snapshot, &TypeRef::node("Person")), "Person");
    assert_eq!(path_name(&snapshot, &TypeRef::edge("Both")), "edge:Both");
}

#[test]
fn criteria_name_a_graph_with_their_branch() {
    assert_eq!(criteria(&Bytes::new()).unwrap(), v1::ListFlightsCriteria::default());
    let only = v1::ListFlightsCriteria { branch: "b".into(), ..Default::default() };
    assert_eq!(criteria(&any(&only)).unwrap_err().reason(), Reason::InvalidArgument);
}
