//! Reads over small stored graphs, compared with what memory says.

mod blobs;
mod getting;
mod scanning;
mod walking;

use serde_json::json;

use super::fixture::Fixture;
use super::scan::ScanRequest;
use crate::model::TypeRef;

const PEOPLE: &str = r#"
    node Person {
        slug: String @key
        age: I32?
        size: U64?
        score: F32?
        weight: F64?
        active: Bool?
        born: Date?
        seen: DateTime?
        role: enum(staff, guest)?
        tags: [String]?
        face: Vector(2)?
        repoName: String?
        order: I64?
    }
    node Company { slug: String @key }
    edge Knows: Person -> Person { since: I64? }
    edge WorksAt: Person -> Company
"#;

fn person(slug: &str, data: serde_json::Value) -> String {
    let mut record = json!({"type": "Person", "data": data});
    record["data"]["slug"] = slug.into();
    format!("{record}\n")
}

fn company(slug: &str) -> String {
    format!("{}\n", json!({"type": "Company", "data": {"slug": slug}}))
}

fn edge(name: &str, id: &str, from: &str, to: &str) -> String {
    format!("{}\n", json!({"edge": name, "from": from, "to": to, "data": {"id": id}}))
}

fn request(name: &str) -> ScanRequest {
    ScanRequest { type_ref: TypeRef::node(name), columns: Vec::new(), predicate: None, order: Vec::new(), limit: None }
}

async fn people(texts: &[String]) -> Fixture {
    let fixture = Fixture::new(PEOPLE).await;
    fixture.add(texts).await;
    fixture
}
