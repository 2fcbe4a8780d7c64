//! Which libraries a folder may name, and where a gRPC status is made.

use crate::paths::{Name, Use};
use crate::{Offence, Tree};

/// The one place that names the storage library.
const STORE: &str = "engine/src/store/";
const STORAGE: [&str; 2] = ["lance", "object_store"];
const WIRE: [&str; 3] = ["tonic", "prost", "omnigraph_proto"];
const ENGINE: [&str; 1] = ["omnigraph_engine"];

/// A folder, the crates it must not name, and what to do instead.
struct Ban {
    folder: &'static str,
    except: &'static str,
    crates: &'static [&'static str],
    fix: &'static str,
}

const BANS: [Ban; 10] = [
    storage_ban("engine/", STORE),
    storage_ban("service/", ""),
    storage_ban("sdk-rust/", ""),
    storage_ban("cli/", ""),
    storage_ban("proto/", ""),
    Ban {
        folder: "engine/",
        except: "",
        crates: &WIRE,
        fix: "the engine knows no wire format: convert in service/src/convert",
    },
    engine_ban("sdk-rust/"),
    engine_ban("proto/"),
    Ban {
        folder: "tests/tidy/",
        except: "",
        crates: &["omnigraph_engine", "omnigraph_service", "omnigraph_client", "lance"],
        fix: "tidy judges the tree as text and must build in seconds",
    },
    Ban {
        folder: "service/src/convert/",
        except: "",
        crates: &["tokio"],
        fix: "conversions are pure: do the work in the rpc",
    },
];

const fn storage_ban(folder: &'static str, except: &'static str) -> Ban {
    Ban {
        folder,
        except,
        crates: &STORAGE,
        fix: "only engine/src/store names the storage library: add what you need to its interface",
    }
}

const fn engine_ban(folder: &'static str) -> Ban {
    Ban {
        folder,
        except: "",
        crates: &ENGINE,
        fix: "clients and the contract do not know the engine: go through the service",
    }
}

/// The one place that makes a `tonic::Status`.
const STATUS: &str = "service/src/status.rs";
const STATUS_FOLDERS: [&str; 4] = ["engine/src/", "service/src/", "sdk-rust/src/", "cli/src/"];
const STATUS_MAKERS: [&str; 25] = [
    "new",
    "ok",
    "cancelled",
    "unknown",
    "invalid_argument",
    "deadline_exceeded",
    "not_found",
    "already_exists",
    "permission_denied",
    "resource_exhausted",
    "failed_precondition",
    "aborted",
    "out_of_range",
    "unimplemented",
    "internal",
    "unavailable",
    "data_loss",
    "unauthenticated",
    "with_details",
    "with_metadata",
    "with_details_and_metadata",
    "with_error_details",
    "with_error_details_vec",
    "from_error",
    "try_from_error",
];

/// Libraries named where they must not be, and statuses made elsewhere.
pub fn check(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for source in &tree.sources {
        let bans: Vec<&Ban> = BANS
            .iter()
            .filter(|ban| source.path.starts_with(ban.folder))
            .filter(|ban| ban.except.is_empty() || !source.path.starts_with(ban.except))
            .collect();
        let guarded = source.path != STATUS && STATUS_FOLDERS.iter().any(|folder| source.path.starts_with(folder));
        for name in &source.names {
            for ban in bans.iter().filter(|ban| names_crate(name, ban.crates)) {
                offences.push(Offence::new(
                    &source.path,
                    name.line,
                    format!("`{}` named in {}", name.segments.join("::"), ban.folder),
                    ban.fix,
                ));
            }
            if guarded && makes_status(name) && !source.is_test_line(name.line) {
                offences.push(Offence::new(
                    &source.path,
                    name.line,
                    format!("makes a status with `{}`", name.segments.join("::")),
                    "return a typed error; service/src/status.rs turns it into a status",
                ));
            }
        }
    }
    offences
}

/// A path of at least two segments whose first is the crate, or one of its family (`lance_io`).
fn names_crate(name: &Name, crates: &[&str]) -> bool {
    if name.member || name.segments.len() < 2 {
        return false;
    }
    crates.iter().any(|krate| {
        let rest = name.first().strip_prefix(krate);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

fn makes_status(name: &Name) -> bool {
    let made = STATUS_MAKERS.iter().any(|maker| name.ends_with(&["Status", maker]));
    made && name.usage != Use::Macro
}
