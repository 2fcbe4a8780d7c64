//! Indexes: what a schema declares, and which physical index each declaration asks for.
//!
//! An index is derived state. It changes how fast a question is answered, never the answer, and nothing that
//! writes waits for one: maintenance builds what is declared.

use super::schema::{EntityType, Property, PropertyType, ScalarType};
use super::{EntityKind, TypeRef};

/// Enums with more values than this get a sorted index instead of one bitmap a value.
const MAX_BITMAP_VALUES: usize = 64;

/// A declared index: an intention.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IndexDecl {
    /// Its columns, at least one. Each gets an index of its own.
    pub columns: Vec<String>,
    /// What it is for.
    pub kind: IndexKind,
    /// How vectors are compared; vectors only.
    pub metric: Option<Metric>,
}

/// What an index is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Whatever suits the column's type: see [`IndexMethod`].
    #[default]
    Auto,
    /// Words in text, ranked.
    Text,
    /// Any part of a text.
    Ngram,
}

/// How two vectors are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// One minus the cosine of the angle between them.
    #[default]
    Cosine,
    /// The square of the Euclidean distance.
    L2,
    /// One minus their inner product.
    Dot,
}

/// A physical kind of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IndexMethod {
    /// Sorted values: equality, ranges, prefixes.
    BTree,
    /// One bitmap a value.
    Bitmap,
    /// One bitmap a member of a list.
    LabelList,
    /// Words with the rows that hold them.
    Inverted,
    /// Runs of three letters with the rows that hold them.
    Ngram,
    /// Neighbours of vectors.
    Vector,
}

/// A physical index that should exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedIndex {
    /// Its name in the table. It follows from the property's stable id, so a rename keeps it.
    pub name: String,
    /// The column.
    pub column: String,
    /// The kind.
    pub method: IndexMethod,
    /// How vectors are compared.
    pub metric: Metric,
}

impl IndexDecl {
    /// An index of the kind that suits the columns' types.
    pub fn auto(columns: Vec<String>) -> Self {
        Self { columns, ..Self::default() }
    }
}

impl IndexKind {
    /// Its name in the schema language; none for [`IndexKind::Auto`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "",
            Self::Text => "text",
            Self::Ngram => "ngram",
        }
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Text, Self::Ngram].into_iter().find(|k| k.as_str() == name)
    }
}

impl Metric {
    /// Its name in the schema language.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::L2 => "l2",
            Self::Dot => "dot",
        }
    }

    /// The metric of this name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Cosine, Self::L2, Self::Dot].into_iter().find(|m| m.as_str() == name)
    }
}

impl IndexMethod {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BTree => "btree",
            Self::Bitmap => "bitmap",
            Self::LabelList => "label_list",
            Self::Inverted => "inverted",
            Self::Ngram => "ngram",
            Self::Vector => "vector",
        }
    }
}

/// The kind of index a declaration asks for on a column of this type; `None` if there is none that fits.
pub fn method(kind: IndexKind, ty: &PropertyType) -> Option<IndexMethod> {
    let text = matches!(ty, PropertyType::Scalar(ScalarType::String));
    match (kind, ty) {
        (IndexKind::Text, _) => text.then_some(IndexMethod::Inverted),
        (IndexKind::Ngram, _) => text.then_some(IndexMethod::Ngram),
        (IndexKind::Auto, PropertyType::Scalar(ScalarType::Blob)) => None,
        (IndexKind::Auto, PropertyType::Scalar(ScalarType::Bool)) => Some(IndexMethod::Bitmap),
        (IndexKind::Auto, PropertyType::Enum(values)) if values.len() <= MAX_BITMAP_VALUES => Some(IndexMethod::Bitmap),
        (IndexKind::Auto, PropertyType::Scalar(_) | PropertyType::Enum(_)) => Some(IndexMethod::BTree),
        (IndexKind::Auto, PropertyType::List(ScalarType::F32 | ScalarType::F64 | ScalarType::Blob)) => None,
        (IndexKind::Auto, PropertyType::List(_)) => Some(IndexMethod::LabelList),
        (IndexKind::Auto, PropertyType::Vector(_)) => Some(IndexMethod::Vector),
    }
}

/// Every physical index a type should have: its ids and ends, its key, and what it declares. No two have the
/// same name.
pub fn wanted(ty: &EntityType) -> Vec<WantedIndex> {
    let system: &[&str] = match ty.kind {
        EntityKind::Node => &["id"],
        EntityKind::Edge => &["id", "src", "dst"],
    };
    let mut out: Vec<WantedIndex> = system
        .iter()
        .map(|column| WantedIndex {
            name: format!("{column}_btree"),
            column: (*column).to_string(),
            method: IndexMethod::BTree,
            metric: Metric::default(),
        })
        .collect();
    let keys = ty.key.iter().map(|column| (column, IndexKind::Auto));
    let declared = ty.indexes.iter().flat_map(|decl| decl.columns.iter().map(|c| (c, decl.kind)));
    for (column, kind) in keys.chain(declared) {
        let Some(property) = ty.property(column) else { continue };
        let Some(method) = method(kind, &property.ty) else { continue };
        let name = index_name(property, method);
        if out.iter().all(|w| w.name != name) {
            out.push(WantedIndex { name, column: column.to_string(), method, metric: metric_of(ty, column) });
        }
    }
    out
}

fn index_name(property: &Property, method: IndexMethod) -> String {
    format!("p{}_{}", property.id, method.as_str())
}

/// How vectors of a property are compared when a search names no metric: as its index does. Declarations that
/// name one agree, a valid schema has no others.
pub fn metric_of(ty: &EntityType, column: &str) -> Metric {
    let declares = |decl: &&IndexDecl| decl.columns.iter().any(|c| c == column);
    ty.indexes.iter().filter(declares).find_map(|d| d.metric).unwrap_or_default()
}

/// How far one physical index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// The type it belongs to.
    pub type_ref: TypeRef,
    /// What should exist.
    pub index: WantedIndex,
    /// Whether it is built.
    pub present: bool,
    /// Why it is not built, or does not cover every row; empty if it does.
    pub pending: String,
    /// Rows it covers. Questions about the others read them.
    pub rows_covered: u64,
    /// Rows it does not cover.
    pub rows_uncovered: u64,
    /// Bytes its files take.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_the_kind_that_suits_it() {
        use IndexMethod::{BTree, Bitmap, Inverted, LabelList, Ngram, Vector};
        let scalar = PropertyType::Scalar;
        let letters = |n: usize| PropertyType::Enum((0..n).map(|i| format!("v{i}")).collect());
        for (kind, ty, expected) in [
            (IndexKind::Auto, scalar(ScalarType::String), Some(BTree)),
            (IndexKind::Auto, scalar(ScalarType::U64), Some(BTree)),
            (IndexKind::Auto, scalar(ScalarType::F64), Some(BTree)),
            (IndexKind::Auto, scalar(ScalarType::DateTime), Some(BTree)),
            (IndexKind::Auto, scalar(ScalarType::Bool), Some(Bitmap)),
            (IndexKind::Auto, scalar(ScalarType::Blob), None),
            (IndexKind::Auto, letters(3), Some(Bitmap)),
            (IndexKind::Auto, letters(65), Some(BTree)),
            (IndexKind::Auto, PropertyType::List(ScalarType::String), Some(LabelList)),
            (IndexKind::Auto, PropertyType::List(ScalarType::F32), None),
            (IndexKind::Auto, PropertyType::Vector(8), Some(Vector)),
            (IndexKind::Text, scalar(ScalarType::String), Some(Inverted)),
            (IndexKind::Text, scalar(ScalarType::I32), None),
            (IndexKind::Ngram, scalar(ScalarType::String), Some(Ngram)),
            (IndexKind::Ngram, PropertyType::Vector(8), None),
        ] {
            assert_eq!(method(kind, &ty), expected, "{kind:?} {ty:?}");
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for kind in [IndexKind::Text, IndexKind::Ngram] {
            assert_eq!(IndexKind::parse(kind.as_str()), Some(kind));
        }
        for metric in [Metric::Cosine, Metric::L2, Metric::Dot] {
            assert_eq!(Metric::parse(metric.as_str()), Some(metric));
        }
        assert_eq!(IndexKind::parse(""), None);
        assert_eq!(IndexKind::parse("Text"), None);
        assert_eq!(Metric::parse("L2"), None);
    }

    #[test]
    fn ids_ends_and_keys_come_first_and_nothing_comes_twice() {
        let source = r#"node N { a: String @key b: String @index(kind="text") @index v: Vector(2) w: Vector(2)
                           @index(b, a) @index(v) @index(v, metric="l2") @index(w) }
                        edge E: N -> N { @key(src, dst) @index(src) }"#;
        let mut schema = crate::schema::parse(source).unwrap();
        crate::schema::assign_ids(&mut schema, &mut || "T".to_string());
        let names = |ty: &EntityType| wanted(ty).into_iter().map(|w| w.name).collect::<Vec<_>>();
        let of_node = ["id_btree", "p1_btree", "p2_inverted", "p2_btree", "p3_vector", "p4_vector"];
        assert_eq!(names(&schema.types[0]), of_node);
        assert_eq!(names(&schema.types[1]), ["id_btree", "src_btree", "dst_btree"]);
        let metrics: Vec<Metric> = wanted(&schema.types[0])[4..].iter().map(|w| w.metric).collect();
        assert_eq!(metrics, [Metric::L2, Metric::Cosine], "a declaration without a metric takes another's");
        assert_eq!(metric_of(&schema.types[0], "v"), Metric::L2);
        assert_eq!(metric_of(&schema.types[0], "w"), Metric::Cosine);
    }
}
