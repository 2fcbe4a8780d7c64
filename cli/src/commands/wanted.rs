//! Which changes a command shows: flags of everything that shows differences.

use clap::{Args, ValueEnum};
use omnigraph_engine::model::{ChangeKind, DiffFilter, Schema};

use crate::failure::Result;
use crate::target::type_named;

/// What happened to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// It is new
    Insert,
    /// It differs
    Update,
    /// It is gone
    Delete,
}

/// Which changes are wanted.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Changes")]
pub(super) struct WantedArgs {
    /// Only entities of this type: Person, edge:Knows. May be repeated
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only this kind of change. May be repeated
    #[arg(long = "kind", value_enum, value_name = "insert|update|delete")]
    kinds: Vec<Kind>,
    /// Only the entity of this id, whatever its type. May be repeated
    #[arg(long = "id", value_name = "ID")]
    ids: Vec<String>,
}

impl WantedArgs {
    /// Whether everything is wanted.
    pub(super) fn is_all(&self) -> bool {
        self.types.is_empty() && self.kinds.is_empty() && self.ids.is_empty()
    }

    /// The engine's form, with types as this schema declares them.
    pub(super) fn filter(&self, schema: &Schema) -> Result<DiffFilter> {
        let kind = |kind: &Kind| match kind {
            Kind::Insert => ChangeKind::Insert,
            Kind::Update => ChangeKind::Update,
            Kind::Delete => ChangeKind::Delete,
        };
        Ok(DiffFilter {
            types: self.types.iter().map(|word| type_named(schema, word)).collect::<Result<_>>()?,
            kinds: self.kinds.iter().map(kind).collect(),
            ids: self.ids.iter().cloned().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use omnigraph_engine::model::TypeRef;

    #[test]
    fn what_is_wanted_is_read_with_the_schema() {
        let schema = omnigraph_engine::schema::parse("node Person {} edge Knows: Person -> Person {}").unwrap();
        assert!(WantedArgs::default().is_all());
        assert_eq!(WantedArgs::default().filter(&schema).unwrap(), DiffFilter::default());
        let wanted = WantedArgs {
            types: vec!["Knows".into(), "Person".into()],
            kinds: vec![Kind::Delete, Kind::Insert, Kind::Delete],
            ids: vec!["ada".into()],
        };
        let filter = wanted.filter(&schema).unwrap();
        assert_eq!(filter.types, [TypeRef::edge("Knows"), TypeRef::node("Person")]);
        assert_eq!(filter.kinds.into_iter().collect::<Vec<_>>(), [ChangeKind::Insert, ChangeKind::Delete]);
        assert!(filter.ids.contains("ada") && !wanted.is_all());
    }
}
