//! Small graphs for tests, made straight through the store: nothing of the write path is needed, and
//! nothing stops a test from storing what the write path would refuse.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use futures::{StreamExt, TryStreamExt};

use super::get;
use crate::data::{Compression, Input, InputFormat, Source, decode};
use crate::format::arrow::{storage_schema, to_storage};
use crate::format::commit_row::{self, CommitExtras};
use crate::format::{paths, snapshot_json};
use crate::graph::create;
use crate::id;
use crate::intent::LiveOperations;
use crate::manifest::publish::{Published, publish};
use crate::manifest::snapshot::version_row;
use crate::manifest::{Snapshot, View};
use crate::model::branch::MAIN;
use crate::model::{Actor, CommitInfo, TypeRef};
use crate::options::EngineOptions;
use crate::schema;
use crate::store::Stores;
use crate::store::lance::commit::Committed;
use crate::store::lance::open::Created;
use crate::store::lance::stage::{GoneRows, NewRows};
use crate::store::lance::{Table, TableAt};
use crate::store::root::Root;
use crate::txn::Core;

/// One graph in memory.
pub(crate) struct Fixture {
    pub core: Arc<Core>,
}

impl Fixture {
    /// An empty graph of this schema.
    pub async fn new(source: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let root = format!("shared-memory://read-{}/g", NEXT.fetch_add(1, Ordering::SeqCst));
        let store = Stores::new(None).open(Root::parse(&root).unwrap()).await.unwrap();
        let core = Core::new(store, EngineOptions::default(), LiveOperations::default(), "E", false);
        create::create(&core, schema::parse(source).unwrap(), &Actor::default(), "").await.unwrap();
        Self { core }
    }

    pub async fn view(&self) -> View {
        self.core.heads.head(MAIN).await.unwrap().1
    }

    pub async fn snapshot(&self) -> Snapshot {
        self.view().await.snapshot.as_ref().clone()
    }

    /// Adds records in one commit; every text becomes one fragment of each type it names.
    pub async fn add(&self, texts: &[String]) {
        let mut parts: BTreeMap<TypeRef, Vec<Vec<RecordBatch>>> = BTreeMap::new();
        for text in texts {
            for (type_ref, batches) in self.decode(text).await {
                parts.entry(type_ref).or_default().push(batches);
            }
        }
        let mut tables = Vec::new();
        for (type_ref, parts) in parts {
            tables.push((type_ref.clone(), self.append(&type_ref, parts).await));
        }
        self.publish(&tables).await;
    }

    async fn decode(&self, text: &str) -> BTreeMap<TypeRef, Vec<RecordBatch>> {
        let input = Input {
            source: Source::stream(Cursor::new(text.as_bytes().to_vec())),
            format: InputFormat::Jsonl,
            compression: Compression::None,
            type_ref: None,
        };
        let mut out: BTreeMap<TypeRef, Vec<RecordBatch>> = BTreeMap::new();
        let schema = self.snapshot().await.schema;
        decode(input, schema, &mut || self.core.fresh_id(), &mut |batch| {
            out.entry(batch.type_ref).or_default().push(batch.batch);
            Ok(())
        })
        .unwrap();
        out
    }

    /// Stores batches of the logical schema as they are, each list as one fragment. Not published.
    pub async fn append(&self, type_ref: &TypeRef, parts: Vec<Vec<RecordBatch>>) -> Table {
        let snapshot = self.snapshot().await;
        let ty = snapshot.ty(type_ref).unwrap();
        let base = match &snapshot.pin(type_ref).unwrap().at {
            Some(at) => self.core.table(at).await.unwrap(),
            None => {
                let empty = RecordBatch::new_empty(storage_schema(ty));
                match self.core.store.create_table(&paths::dataset(type_ref, 0), empty, ours()).await.unwrap() {
                    Created::Done(table) => table,
                    Created::Exists => panic!("the dataset of {type_ref} stands already"),
                }
            }
        };
        let mut new = NewRows::default();
        for batches in parts {
            let stored: Vec<_> = batches.iter().map(|b| to_storage(ty, b)).collect();
            let stream = futures::stream::iter(stored).boxed();
            new.extend(base.stage_rows(&self.core.store, storage_schema(ty), stream).await.unwrap());
        }
        self.commit(&base, new, GoneRows::default(), ours()).await
    }

    pub async fn commit(
        &self,
        base: &Table,
        new: NewRows,
        gone: GoneRows,
        properties: HashMap<String, String>,
    ) -> Table {
        let mut staged = base.stage(new, gone);
        staged.set_properties(properties);
        match base.commit(&self.core.store, staged).await.unwrap() {
            Committed::Landed(table) => table,
            Committed::Taken => panic!("somebody else committed"),
        }
    }

    /// Deletes entities in one commit.
    pub async fn delete(&self, type_ref: &TypeRef, ids: &[&str]) {
        let table = self.table(type_ref).await;
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let addresses = get::locate(&self.core, &table, &ids).await.unwrap();
        let gone = table.stage_gone(addresses.into_values()).await.unwrap();
        let after = self.commit(&table, NewRows::default(), gone, ours()).await;
        self.publish(&[(type_ref.clone(), after)]).await;
    }

    pub async fn table(&self, type_ref: &TypeRef) -> Table {
        let at = self.snapshot().await.pin(type_ref).unwrap().at.clone().unwrap();
        self.core.table(&at).await.unwrap()
    }

    /// Publishes table states as they are.
    pub async fn publish(&self, tables: &[(TypeRef, Table)]) {
        let pins: Vec<_> = tables.iter().map(|(t, table)| (t.clone(), table.at().clone(), table.rows())).collect();
        self.publish_pins(&pins).await;
    }

    /// Publishes whatever is said, true or not.
    pub async fn publish_pins(&self, pins: &[(TypeRef, TableAt, u64)]) {
        let view = self.view().await;
        let head = view.snapshot.head();
        let commit = CommitInfo {
            id: id::fresh_above(self.core.options.ids.as_ref(), self.core.now(), head),
            parents: vec![head.to_string()],
            branch: MAIN.to_string(),
            actor: Actor::default(),
            created_at: self.core.now(),
            message: String::new(),
            request_id: String::new(),
            operation: "load".to_string(),
            counts: Vec::new(),
            manifest_version: view.snapshot.version + 1,
            lance_branch: None,
            merge: None,
            imported: None,
        };
        let mut rows: Vec<_> =
            pins.iter().map(|(t, at, rows)| version_row(t, at, *rows, &commit.id, None).unwrap()).collect();
        rows.push(commit_row::encode(&commit, &CommitExtras::default()).unwrap());
        match publish(&self.core.store, &view, rows, "op").await.unwrap() {
            Published::Landed(_) => {}
            Published::Lost => panic!("somebody else published"),
        }
    }

    /// All rows of a scan's stream.
    pub async fn rows(batches: futures::stream::BoxStream<'static, crate::Result<RecordBatch>>) -> Vec<RecordBatch> {
        batches.try_collect().await.unwrap()
    }
}

/// The properties of a version this engine made.
pub(crate) fn ours() -> HashMap<String, String> {
    HashMap::from([(snapshot_json::OPERATION.to_string(), "op".to_string())])
}
